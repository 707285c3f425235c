// Names of live processes.
//
// A name belongs to at most one live process and is free again in the very step in which that process ends. A lookup may return a
// process that ends right after; callers watch what they hold. A registry belongs to a system, never to the module.
import type { Process } from "./process.ts"

export type Registered = { readonly ok: true } | { readonly ok: false; readonly holder: Process }

export class Registry {
  readonly #byName = new Map<string, Process>()
  readonly #names = new Map<Process, string[]>()

  /** Refused while another live process holds the name, and when the process itself is dead. Registering again is harmless. */
  register(name: string, process: Process): Registered {
    const holder = this.#byName.get(name)
    if (holder !== undefined) return holder === process ? { ok: true } : { ok: false, holder }
    if (!process.isAlive) return { ok: false, holder: process }
    this.#byName.set(name, process)
    const names = this.#names.get(process)
    if (names === undefined) this.#names.set(process, [name])
    else names.push(name)
    return { ok: true }
  }

  unregister(name: string): void {
    const holder = this.#byName.get(name)
    if (holder === undefined) return
    this.#byName.delete(name)
    const names = this.#names.get(holder)?.filter((other) => other !== name) ?? []
    if (names.length === 0) this.#names.delete(holder)
    else this.#names.set(holder, names)
  }

  whereis(name: string): Process | undefined {
    return this.#byName.get(name)
  }

  names(): string[] {
    return [...this.#byName.keys()]
  }

  /** Called by a process in its own end. */
  free(process: Process): void {
    const names = this.#names.get(process)
    if (names === undefined) return
    this.#names.delete(process)
    for (const name of names) this.#byName.delete(name)
  }
}
