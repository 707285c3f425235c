// Real sessions with the built program, as transcripts: what is said to it is read from each file, and all of it, with what it answered, must
// be the file again. `npx vitest run test/golden.test.ts --update` writes what there is now, to be read before it is committed.
//
//   {"about": "…", "framing": "frames" | "lines"}      first line; with "request" instead, that is what `nacre request` is given
//   {">": {…}, "wait": [1, "output"]}                  a message, and until which answers ("batch" for one of a batch) and notifications is waited: by
//                                                     default its own answer
//   {"raw": "…", "wait": [null]}                       text as it is; no frame is put around it
//   {"<": {…}}                                         what came meanwhile: notifications in their order, then answers by id
//   {"exit": 0}                                        after the input has ended
//
// Ids are numbered by when they appear, times are 0, and what docs/PROTOCOL.md holds is left out.
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { FrameDecoder } from "nacre/client"
import { NacreProcess } from "./system/nacre-process.ts"
import { until } from "./until.ts"

const folder = join(import.meta.dirname, "golden")

interface Message {
  id?: unknown
  method?: string
}
interface Head {
  about: string
  framing?: "frames" | "lines"
  request?: unknown
}
interface Step {
  ">"?: Message
  raw?: string
  wait?: (number | string | null)[]
}

class Transcript {
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly lines: string[] = []

  add(line: object): void {
    this.lines.push(JSON.stringify(line))
  }

  heard(message: object): void {
    this.add({ "<": this.#normal(message, "") })
  }

  #normal(value: unknown, key: string): unknown {
    if (typeof value === "string") return this.#text(key === "version" ? "VERSION" : value)
    if (typeof value === "number" && (key === "durationMs" || key === "at")) return 0
    if (key === "methods" || key === "notifications" || key === "limits") return "(see docs/PROTOCOL.md)"
    if (Array.isArray(value)) return value.map((item) => this.#normal(item, ""))
    if (typeof value !== "object" || value === null) return value
    // Of an event: hosts that start meanwhile count, too.
    if ("seq" in value && "type" in value) value = { ...value, seq: 0 }
    return Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, this.#normal(item, name)]))
  }

  #text(given: string): string {
    // In the engine's words, which are others in another version.
    const text = given.replace(/(is not valid JSON: ).*/s, "$1…")
    return text.replaceAll(/\b(evl|ses|hst|ncr|cnd|con|chg)_[\w-]+/g, (id, kind: string) => {
      let name = this.#names.get(id)
      if (name === undefined) {
        const count = (this.#counts.get(kind) ?? 0) + 1
        this.#counts.set(kind, count)
        name = `${kind}_${count}`
        this.#names.set(id, name)
      }
      return name
    })
  }
}

function read(file: string): { head: Head; steps: Step[] } {
  const [head, ...rest] = readFileSync(join(folder, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as object)
  return { head: head as Head, steps: rest.filter((line) => ">" in line || "raw" in line) as Step[] }
}

function frame(text: string): string {
  return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** What a process has said, as messages. */
class Ear {
  readonly #process: NacreProcess
  readonly #isLines: boolean
  #taken = 0

  constructor(process: NacreProcess, isLines: boolean) {
    this.#process = process
    this.#isLines = isLines
  }

  #all(): Message[] {
    const { stdout } = this.#process
    const texts = this.#isLines ? stdout.split("\n").slice(0, -1) : [...new FrameDecoder().push(Buffer.from(stdout))]
    return texts.map((text) => JSON.parse(text) as Message)
  }

  /** Those that have come since, once all of `wait` are among them. */
  async hear(wait: readonly (number | string | null)[]): Promise<Message[]> {
    const fresh = (): Message[] => this.#all().slice(this.#taken)
    const isHeard = (): boolean => {
      const left = fresh()
      return wait.every((wanted) => {
        const at = left.findIndex(
          (it) => it.method === wanted || ("id" in it && it.id === wanted) || (Array.isArray(it) && wanted === "batch"),
        )
        if (at !== -1) left.splice(at, 1)
        return at !== -1
      })
    }
    await until(`answers ${JSON.stringify(wait)}`, isHeard)
    const heard = fresh()
    this.#taken += heard.length
    return inOrder(heard)
  }

  rest(): Message[] {
    return inOrder(this.#all().slice(this.#taken))
  }
}

/** Answers of one step may come in any order. */
function inOrder(messages: Message[]): Message[] {
  const answers = messages.filter((it) => it.method === undefined)
  const key = (it: Message): string => JSON.stringify(it.id) ?? "batch"
  const byId = answers.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
  return [...messages.filter((it) => it.method !== undefined), ...byId]
}

async function run({ head, steps }: ReturnType<typeof read>): Promise<string> {
  const transcript = new Transcript()
  transcript.add(head)
  if (head.request !== undefined) {
    const { code, stdout } = await new NacreProcess(["request", JSON.stringify(head.request)]).end()
    for (const line of stdout.trimEnd().split("\n")) transcript.heard(JSON.parse(line) as object)
    transcript.add({ exit: code })
    return `${transcript.lines.join("\n")}\n`
  }
  const isLines = head.framing === "lines"
  const process = new NacreProcess(["session", ...(isLines ? ["--framing", "lines"] : [])])
  const ear = new Ear(process, isLines)
  for (const step of steps) {
    transcript.add(step)
    const { ">": message, raw, wait = message?.id === undefined ? [] : [message.id as number | string] } = step
    const text = JSON.stringify(message)
    process.child.stdin.write(raw ?? (isLines ? `${text}\n` : frame(text)))
    for (const heard of await ear.hear(wait)) transcript.heard(heard)
  }
  const { code, stderr } = await process.end()
  for (const heard of ear.rest()) transcript.heard(heard)
  expect(stderr).toBe("")
  transcript.add({ exit: code })
  return `${transcript.lines.join("\n")}\n`
}

describe("transcripts", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"))

  test.each(files)("%s", async (file) => {
    await expect(await run(read(file))).toMatchFileSnapshot(join(folder, file))
  })

  test("there is one for each story", () => {
    expect(files.toSorted()).toEqual([
      "cancellation.jsonl",
      "errors.jsonl",
      "evaluate.jsonl",
      "garbage.jsonl",
      "interrupt.jsonl",
      "lines.jsonl",
      "profiles.jsonl",
      "request-batch.jsonl",
      "request.jsonl",
      "reset.jsonl",
      "revisions.jsonl",
    ])
  })
})
