// docs/PROTOCOL.md and docs/ERRORS.md as text, made from the tables that the program itself runs on.
//
// A test compares them with the files and fails when they differ; `npx vitest run test/unit/serve/pages.test.ts --update` writes them.
import { errorKinds } from "../errors.ts"
import { outcomeReasons } from "../session/outcome.ts"
import { messageBytesMax } from "./framing.ts"
import { commonKinds, kindsOf, methods, nacreKinds, notifications, parametersOf, protocolVersion } from "./methods.ts"
import type { Method } from "./method.ts"
import { requestsInFlightMax } from "./rpc.ts"
import { nameOf } from "./schema.ts"
import type { Field, Fields, Type } from "./schema.ts"
import { exportedRevision, outcome, revisionRecord, sessionInfo } from "./shapes.ts"

const protocolIntroduction = `# Protocol

Version ${protocolVersion}. JSON-RPC 2.0 between a client and a nacre: \`npx nacre session\` serves one client on its standard input and output, \`npx nacre serve\`
many over WebSocket, and \`npx nacre request JSON\` answers one request. \`nacre/client\` is a client library for Node with the types of every method.

- **Framing.** \`Content-Length\` headers as in LSP (the length counts bytes), or one JSON value per line: the client's first bytes choose, or
  \`--framing headers|lines\`; answers are framed alike. On WebSocket a text frame is a message. A message may have ${messageBytesMax / 1024 / 1024} MiB. What is malformed is answered with an error whose \`id\` is null and loses only itself.
- **Order.** Requests begin in the order they are sent and are answered as they finish, so an \`interrupt\` is answered while an \`eval\` computes. Evals of one
  session run one after the other. \`initialize\` comes first; requests may follow it without waiting for its answer. At most ${requestsInFlightMax} may be under way.
- **Sessions.** Methods that work on a session take \`session\`, an id. Without one they mean the connection's own, which is opened by the first that needs it.
- **Fates.** What the code of an eval did is its outcome: a result, whatever its \`status\`. An error answer means that Nacre refused or could not do what was
  asked: \`{ code, message, data: { kind, retry } }\` with the kinds of [ERRORS.md](ERRORS.md).
- **Changes.** A change of definitions that is not made is a result too: \`status: "rejected"\` with the reason. A request that runs code or changes definitions begins when the
  changes of that session which this connection asked for before it have ended, so they may be sent without waiting for each other's answers.
- **Stopping.** The notification \`$/cancelRequest\` with \`{ id }\` interrupts an eval like \`interrupt\` with \`request\`; its request is answered all the same. There is
  room for it also when the maximum of requests is under way.
- **Slow clients.** While a client reads too slowly, notifications are left out; the next one is preceded by \`dropped\`, which counts them. Answers never are.
- **The end.** At the end of the input everything under way is answered, then the server exits with 0. \`shutdown\` then \`exit\` exits with 0, \`exit\` alone with 1.
  A client that has died is noticed, and what it asked for is stopped.
- **Positions.** Lines and columns are 1-based; columns and offsets count UTF-16 units.
- Parameters are given by name; one that a method does not have is refused by name, except by initialize, which newer clients may tell more. Batches are answered when all of their requests are.

## WebSocket

- **Token.** Every connection shows it: \`Authorization: Bearer TOKEN\`, or, where no header can be sent, the subprotocol \`nacre.token.TOKEN\` beside \`nacre.v1\`.
  A page of a browser needs its origin to be named by the server (\`--origin\`).
- **A socket that breaks** (any end but the close codes 1000, 1001 and none) leaves its connection for the server's grace, 30 s by default: evals go on, and what would be sent is kept, up to 4 MiB.
  On another socket the client sends \`resume\` instead of \`initialize\`, with the \`connection\` that initialize answered and how many messages it has got; the answer says how many the
  server has got, so each side sends the rest. Then everything goes on as if nothing had been.
- **Events** of a session can be followed with \`attach\`, from a number on: \`since\`. The last thousand of a nacre are kept.
- **Silence.** The server pings every 15 s and ends sockets that give no sign of life until the next; a socket that has not said \`initialize\` within 10 s is closed with 4001.

## On standard input and output

\`\`\`sh
printf '%s\\n' '{"jsonrpc":"2.0","id":1,"method":"initialize"}' \\
  '{"jsonrpc":"2.0","id":2,"method":"eval","params":{"code":"6 * 7"}}' | npx nacre session
\`\`\`
`

/** docs/PROTOCOL.md. */
export function protocolPage(): string {
  const lines = [protocolIntroduction]
  lines.push("## Methods\n", "| method | what it does |", "| --- | --- |")
  for (const [name, row] of Object.entries(methods))
    lines.push(`| [\`${name}\`](#${anchor(name)}) | ${firstSentence(row.doc)} |`)
  lines.push("", `Any request can fail with ${kindList(commonKinds)};`)
  lines.push(`any but \`initialize\` and \`exit\` with \`not_initialized\`.\n`)
  for (const [name, row] of Object.entries(methods)) lines.push(methodSection(name, row))
  lines.push("## Notifications of the server\n")
  for (const [name, { doc, params }] of Object.entries(notifications)) {
    lines.push(`### ${name}\n`, `${doc}\n`, fieldTable("field", params))
  }
  for (const { title, doc, fields } of sections) lines.push(`## ${title}\n`, `${doc}\n`, fieldTable("field", fields))
  return `${lines.join("\n").trimEnd()}\n`
}

/** docs/ERRORS.md. */
export function errorsPage(): string {
  const lines = [
    "# Errors",
    "",
    "What Nacre itself fails with: a `NacreError` in the embedding API, an error answer in the [protocol](PROTOCOL.md), or, thrown into session code, an",
    "`Error` with that `kind`. What user code throws is never one of these: it is part of its eval's outcome. Compare `kind`; it never changes its meaning.",
    "",
    "`retry`: `same`, the same call may succeed later; `fresh`, it needs a new session, revision or id; `never`, the call itself is wrong.",
    "",
    "| kind | code | retry | when |",
    "| --- | --- | --- | --- |",
  ]
  for (const [kind, { code, retry, when }] of Object.entries(errorKinds)) {
    lines.push(`| \`${kind}\` | ${code} | ${retry} | ${when} |`)
  }
  lines.push(
    "",
    "## Why an eval did not end by itself",
    "",
    "An outcome's `because`. A name that ends in `…` stands for all that begin so.",
    "",
    "| because | when |",
    "| --- | --- |",
  )
  for (const [reason, when] of Object.entries(outcomeReasons)) lines.push(`| \`${reason}\` | ${when} |`)
  return `${lines.join("\n")}\n`
}

function methodSection(name: string, row: Method): string {
  const lines = [`### ${name}\n`, `${row.doc}\n`]
  const params = parametersOf(row)
  if (Object.keys(params).length > 0) lines.push(fieldTable("parameter", params))
  lines.push(resultText(row.result))
  const kinds = [...kindsOf(row)].filter((kind) => !isCommon(kind))
  if (kinds.length > 0) lines.push(`Fails with ${kindList(kinds)}.\n`)
  return lines.join("\n")
}

function isCommon(kind: string): boolean {
  return kind === nacreKinds[0] || commonKinds.some((it) => it === kind)
}

/** Shapes that have a section of their own, and how it is linked to. */
const sections: readonly { fields: Fields; link: string; title: string; doc: string }[] = [
  { fields: outcome, link: "[outcome](#outcome)", title: "Outcome", doc: "How an eval ended." },
  { fields: sessionInfo, link: "[session](#session)", title: "Session", doc: "What the answers about sessions hold." },
  { fields: revisionRecord, link: "[record](#record)", title: "Record", doc: "What led to a revision." },
  {
    fields: exportedRevision,
    link: "[exported revision](#exported-revision)",
    title: "Exported revision",
    doc: "The definitions of a revision as data.",
  },
]

function linkOf(type: Type): string | undefined {
  return "fields" in type ? sections.find(({ fields }) => fields === type.fields)?.link : undefined
}

function resultText(result: Type): string {
  const link = linkOf(result)
  if (link !== undefined) return `Result: ${/^\[[aeiou]/.test(link) ? "an" : "a"} ${link}.\n`
  if (!("fields" in result)) return `Result: ${nameOf(result)}.\n`
  return fieldTable("result", result.fields)
}

function fieldTable(title: string, fields: Fields): string {
  const rows = Object.entries(fields).flatMap(([name, field]) => fieldRows(name, field))
  return `${[`| ${title} | type | |`, "| --- | --- | --- |", ...rows].join("\n")}\n`
}

/** The row of a field, and those of its parts under it. */
function fieldRows(name: string, field: Field): string[] {
  const optional = field.optional === true ? "?" : ""
  const parts = "list" in field ? field.list : field
  const nested = "fields" in parts && linkOf(parts) === undefined ? parts.fields : {}
  const below = Object.entries(nested).flatMap(([part, it]) => fieldRows(`${name}.${part}`, it))
  return [`| \`${name}${optional}\` | ${inCell(shortName(field))} | ${inCell(field.doc)} |`, ...below]
}

function inCell(text: string): string {
  return text.replaceAll("|", "\\|")
}

/** The type of a field whose parts have rows of their own. */
function shortName(type: Type): string {
  if ("fields" in type) return linkOf(type) ?? "object"
  if ("list" in type && "fields" in type.list) return `list of ${linkOf(type.list) ?? "objects"}`
  return nameOf(type)
}

function kindList(kinds: readonly string[]): string {
  return kinds.map((kind) => `\`${kind}\``).join(", ")
}

function firstSentence(doc: string): string {
  return /^.*?[.?](?= [A-Z]|$)/.exec(doc)?.[0] ?? doc
}

/** How a heading is linked to in Markdown. */
function anchor(name: string): string {
  return name.toLowerCase().replaceAll("/", "")
}
