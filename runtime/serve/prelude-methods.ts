// The methods about a workspace's preludes.
import { NacreError } from "../errors.ts"
import { method } from "./method.ts"

const preludeName = { type: "string", min: 1, max: 64 } as const
const loaded = {
  name: { type: "string", doc: "The prelude's name." },
  exports: { list: { type: "string" }, doc: "Names that sessions see, of values and of types." },
  hasImports: { type: "boolean", doc: "It imports modules: only sessions of profile full have it." },
} as const

/** Sessions of every profile evaluate a prelude, so who may not use the most powerful one loads none. */
function expectMayChangeAll(connection: { mayUse(profile: string): boolean }): void {
  if (connection.mayUse("full")) return
  const message =
    "Preludes run in every session of the workspace, also in those of profile full, which this server does not let its clients use; the embedder can load one."
  throw new NacreError("capability_denied", message)
}

export const preludeMethods = {
  "preludes/list": method({
    doc: "The preludes of the workspace, in the order in which they are evaluated.",
    params: {},
    result: { fields: { preludes: { list: { fields: loaded }, doc: "Each with what it exports." } } },
    fails: [],
    needs: "nacre",
    handle: (_params, { nacre, connection }) => ({
      preludes: nacre.preludes(connection.workspace).map(({ name, exports, hasImports }) => ({
        name,
        exports: [...exports],
        hasImports,
      })),
    }),
  }),

  "preludes/load": method({
    doc: "Loads a prelude into the workspace, or one in the place of that of the same name: what it exports is known in every session of the workspace by bare name, from its next eval on. One that fails changes nothing. For connections that may use profile `full`, since sessions of every profile evaluate it.",
    params: {
      name: { ...preludeName, doc: "Letters, digits, dots, dashes and underscores." },
      source: { type: "string", doc: "Its text, as TypeScript." },
    },
    result: { fields: loaded },
    fails: ["prelude_invalid", "name_conflict", "source_too_large", "capability_denied", "host_unavailable"],
    needs: "nacre",
    isBarrier: true,
    handle: async ({ name, source }, { nacre, connection }) => {
      const { workspace } = connection
      expectMayChangeAll(connection)
      const prelude = await nacre.loadPrelude({ name, source, workspace })
      return { ...prelude, exports: [...prelude.exports] }
    },
  }),

  "preludes/remove": method({
    doc: "Takes a prelude out of the workspace; instances of its classes stay what they are. For connections that may use profile `full`.",
    params: { name: { ...preludeName, doc: "Its name." } },
    result: { fields: { removed: { type: "boolean", doc: "False when there is none of that name." } } },
    fails: ["prelude_invalid", "capability_denied", "host_unavailable"],
    needs: "nacre",
    isBarrier: true,
    handle: async ({ name }, { nacre, connection }) => {
      expectMayChangeAll(connection)
      return { removed: await nacre.removePrelude(name, connection.workspace) }
    },
  }),
}
