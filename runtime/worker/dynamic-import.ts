// `import()` that no compiler of ours has seen: in code that is made at run time, by `eval` or `new Function`, and in CommonJS files.
//
// Everywhere else it is a call of the realm's own loader, put there by the compiler. Here the engine asks the thread, and what the thread
// answers with must be the realm's: an error object of the outer realm would be a way out of the session's.
import type { Module } from "node:vm"

/** What Node calls for `import()` of a script, a function or a module. */
export type DynamicImport = (
  specifier: string,
  from: unknown,
  attributes: { readonly type?: unknown },
) => Promise<Module>

/** Hands what is loaded, or the realm's own reason why not, to `settle`. */
export type LoadForRealm = (
  specifier: string,
  type: string,
  settle: (isLoaded: boolean, value: unknown) => void,
) => void

/** Of the realm whose code asks; `undefined` where no realm is known, as in code that lost its async context. */
let realmAsking: () => LoadForRealm | undefined = () => undefined

/** Once per thread: who knows which realm's code is at hand. */
export function serveDynamicImports(find: () => LoadForRealm | undefined): void {
  realmAsking = find
}

export function importForRealm(load: LoadForRealm | undefined, specifier: string, type: string): Promise<Module> {
  return new Promise((resolve, reject) => {
    // Without a realm's own error it is a door that is closed with a primitive.
    if (load === undefined) {
      reject(undefined)
      return
    }
    try {
      load(specifier, type, (isLoaded, value) => (isLoaded ? resolve(value as Module) : reject(value)))
    } catch {
      reject(undefined)
    }
  })
}

/** For scripts, which realms share. */
export const importModuleDynamically: DynamicImport = (specifier, _from, attributes) =>
  importForRealm(realmAsking(), specifier, typeOf(attributes))

export function typeOf({ type }: { readonly type?: unknown }): string {
  return typeof type === "string" ? type : ""
}
