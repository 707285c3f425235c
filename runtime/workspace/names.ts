// Which names a global may have, decided in one place for session code and embedder alike.
//
// A bare name that is no binding of a session is looked up among the globals only when the compiler leaves it to that, so a global must
// not have a name that means something before: a reserved word, a singleton, a class of the registry, a name of the realm's own global
// object. What a fresh realm has is asked of the engine, once.
import { inspect } from "node:util"
import { createContext, constants } from "node:vm"
import { timerNames, webNames } from "../../stdlib/capabilities.ts"
import { NacreError } from "../errors.ts"

const singletons = ["Workspace", "Transcript", "tools"]
const registry = ["Session", "BindingsView"]
/** What Nacre adds to a realm's global object (`stdlib/globals.ts`). */
const added = ["console", ...timerNames, ...webNames, "SuppressedError"]
const reserved =
  "arguments async await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof undefined var void while with yield"

/** Names of a session that are no bindings. */
const lastOnes = ["_", "_error"]

/** Longer names are mistakes. */
const nameMax = 256
const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

let taken: Map<string, string> | undefined

/** Throws `type_error` for what is no identifier and `name_conflict` for a name that means something else already. */
export function checkGlobalName(name: unknown): asserts name is string {
  if (typeof name !== "string") {
    throw new NacreError("type_error", `A global's name must be a string, not ${inspect(name)}.`)
  }
  if (name.length > nameMax || !identifier.test(name)) {
    const shown = name.length > 40 ? `${name.slice(0, 40)}…` : name
    throw new NacreError("type_error", `A global's name must be an identifier, so that code can use it: '${shown}'.`)
  }
  const what = (taken ??= takenNames()).get(name)
  if (what !== undefined) throw new NacreError("name_conflict", `'${name}' is ${what} and cannot be a global.`)
}

/** Names that mean something in every session, reserved words among them. */
export function namesOfEverySession(): string[] {
  return [...(taken ??= takenNames()).keys()]
}

function takenNames(): Map<string, string> {
  const names = new Map<string, string>()
  // Nothing is evaluated in it: it is only looked at, and dropped.
  const fresh = createContext(constants.DONT_CONTEXTIFY) as object
  for (const name of Object.getOwnPropertyNames(fresh)) names.set(name, "a name of the language")
  for (const name of added) names.set(name, "a name of every session")
  for (const name of reserved.split(" ")) names.set(name, "a reserved word")
  for (const name of lastOnes) names.set(name, "a name that every session has for itself")
  for (const name of registry) names.set(name, "a class of the registry")
  for (const name of singletons) names.set(name, "a system name")
  return names
}
