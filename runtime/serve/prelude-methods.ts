// The methods about a workspace's preludes.
import { method } from "./method.ts"

const preludeName = { type: "string", min: 1, max: 64 } as const
const loaded = {
  name: { type: "string", doc: "The prelude's name." },
  exports: { list: { type: "string" }, doc: "Names that sessions see, of values and of types." },
  hasImports: { type: "boolean", doc: "It imports modules: only sessions of profile full have it." },
} as const

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
    doc: "Loads a prelude into the workspace, or one in the place of that of the same name: what it exports is known in every session of the workspace by bare name, from its next eval on. One that fails changes nothing.",
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
      const prelude = await nacre.loadPrelude({ name, source, workspace, imports: connection.mayUse("full") })
      return { ...prelude, exports: [...prelude.exports] }
    },
  }),

  "preludes/remove": method({
    doc: "Takes a prelude out of the workspace; instances of its classes stay what they are.",
    params: { name: { ...preludeName, doc: "Its name." } },
    result: { fields: { removed: { type: "boolean", doc: "False when there is none of that name." } } },
    fails: ["prelude_invalid", "host_unavailable"],
    needs: "nacre",
    isBarrier: true,
    handle: async ({ name }, { nacre, connection }) => ({
      removed: await nacre.removePrelude(name, connection.workspace),
    }),
  }),
}
