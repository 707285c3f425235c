// The vocabulary between the embedder's process and the checker's. Both sides check every message against it, as with hosts.
//
//   toChecker    what to check, complete, explain; sets are sent as what differs from one that the checker holds
//   fromChecker  the answers, in the order of the requests: it works on one at a time
import { bool, int, list, oneOf, optional, record, str } from "./check.ts"
import type { Checked } from "./check.ts"
import { jsx, message } from "./schema.ts"

export const checkerWireVersion = 2

const declaration = record({
  key: str,
  source: str,
  targets: optional(list(record({ specifier: str, key: str }))),
  isFile: optional(bool),
})
const local = record({ name: str, keyword: oneOf("let", "const"), type: str })
const environment = record({
  id: str,
  profile: str,
  ambient: str,
  preludes: list(record({ name: str, source: str, directory: str, exports: list(str) })),
  locals: list(local),
  directory: optional(str),
  jsx: optional(jsx),
})
const related = record({ message: str, start: int, length: int, key: optional(str) })
const diagnostic = record({
  code: int,
  message: str,
  related: list(related),
  start: int,
  length: int,
  category: oneOf("error", "warning"),
  isNew: bool,
  key: optional(str),
})
const keyed = record({ name: str, text: str })
const signature = record({
  text: str,
  documentation: str,
  parameters: list(record({ text: str, documentation: str })),
})

/** Where a request stands. `environment` and `whole` (all of `base`) only when the checker has said that it misses them. */
const place = {
  request: int,
  session: str,
  base: str,
  environmentId: str,
}
const given = { environment: optional(environment), whole: optional(list(declaration)) }

export const toChecker = {
  check: message(1, { ...place, set: str, changed: list(declaration), removed: list(str), statements: str, ...given }),
  /** Makes `set` of `base` without looking at anything. */
  advance: message(2, { ...place, set: str, changed: list(declaration), removed: list(str), ...given }),
  complete: message(3, { ...place, text: str, offset: int, ...given }),
  hover: message(4, { ...place, text: str, offset: int, ...given }),
  signature: message(5, { ...place, text: str, offset: int, ...given }),
  forget: message(6, { session: str }),
  shutdown: message(7, {}),
} as const

export const fromChecker = {
  ready: message(64, { version: int, pid: int }),
  missing: message(65, { request: int, what: oneOf("base", "environment") }),
  /** TypeScript itself failed. */
  failed: message(66, { request: int, message: str }),
  checked: message(67, {
    request: int,
    diagnostics: list(diagnostic),
    schemes: list(keyed),
    localTypes: list(local),
    checkedCount: int,
  }),
  advanced: message(68, { request: int }),
  completed: message(69, {
    request: int,
    start: int,
    end: int,
    items: list(record({ name: str, kind: str })),
    isCut: bool,
  }),
  hovered: message(70, { request: int, isFound: bool, start: int, end: int, text: str, documentation: str }),
  signatures: message(71, { request: int, items: list(signature), active: int, parameter: int }),
  /** It is about to kill itself. */
  dying: message(72, { because: str }),
} as const

export type WireDiagnostic = Checked<typeof diagnostic>
