// What files see of the session that loads them (`nacre:session`): its own bindings, each looked up when it is used.
//
// A name is bound to nothing here, so a redefinition, an assignment, an earlier revision in force and a candidate that is being made show at the next
// use. Only what the session binds itself is there: neither globals nor classes of the workspace. While a file is evaluated its uses are
// noted, since what it then keeps of them does not follow.
import type { Environment } from "./environment.ts"
import {
  arrayPush,
  createObject,
  defineOwn,
  deleteOwn,
  hasOwn,
  newList,
  ReferenceErrorOfRealm,
  toStringTag,
  TypeErrorOfRealm,
} from "./intrinsics.ts"

/** One name as a file uses it: `v` to read, `w` to write, `t` for `typeof`, `o` for a member of the namespace. */
export interface SessionName {
  v: unknown
  w: unknown
  readonly t: string
  readonly o: unknown
}

export class SessionNames {
  readonly #environment: Environment
  readonly #all = createObject(null) as Record<string, unknown>
  #shown: string[] = newList()
  /** What files have used since `begin`, in order; `undefined` when none is being evaluated. */
  #noted: string[] | undefined = undefined

  constructor(environment: Environment) {
    this.#environment = environment
    defineOwn(this.#all, toStringTag, { __proto__: null, value: "Module" } as PropertyDescriptor)
  }

  /** A file is being evaluated from now on. */
  begin(): void {
    this.#noted ??= newList()
  }

  /** No file is any more; gives the names that were read. */
  end(): string[] {
    const noted = this.#noted ?? newList<string>()
    this.#noted = undefined
    return noted
  }

  /** `name` for the file at `path`; all names for "*". */
  name(name: string, path: string): SessionName {
    if (name === "*") return this.#whole()
    const cell = this.#environment.cell(name)
    const note = (): void => {
      if (this.#noted !== undefined) arrayPush(this.#noted, name)
    }
    const read = (): unknown => {
      if (this.#noted !== undefined) note()
      if (cell.state === "free") {
        throw new ReferenceErrorOfRealm(
          `${name} is not defined: the session has no such name, which ${path} imports from nacre:session`,
        )
      }
      return cell.v
    }
    return {
      __proto__: null,
      get v() {
        return read()
      },
      set v(_value: unknown) {
        refuseWrite(name)
      },
      get w() {
        return read()
      },
      set w(_value: unknown) {
        refuseWrite(name)
      },
      get t(): string {
        return cell.state === "free" ? "undefined" : typeof read()
      },
      get o() {
        note()
        return cell.state === "free" ? undefined : read()
      },
    } as unknown as SessionName
  }

  #whole(): SessionName {
    const all = (): object => this.all()
    return {
      __proto__: null,
      get v() {
        return all()
      },
      set v(_value: unknown) {
        refuseWrite("the namespace of nacre:session")
      },
      get w() {
        return all()
      },
      set w(_value: unknown) {
        refuseWrite("the namespace of nacre:session")
      },
      t: "object",
      get o() {
        return all()
      },
    } as unknown as SessionName
  }

  /** An object with a getter for each name that the session binds now. It is always the same object. */
  all(): object {
    const names = this.#environment.names()
    if (this.#noted !== undefined) arrayPush(this.#noted, "*")
    for (let index = 0; index < this.#shown.length; index++) {
      if (!this.#environment.has(this.#shown[index]!)) deleteOwn(this.#all, this.#shown[index]!)
    }
    const environment = this.#environment
    for (let index = 0; index < names.length; index++) {
      const name = names[index]!
      const getter = {
        __proto__: null,
        get: () => environment.cell(name).v,
        enumerable: true,
        configurable: true,
      }
      if (!hasOwn(this.#all, name)) defineOwn(this.#all, name, getter)
    }
    this.#shown = names
    return this.#all
  }
}

function refuseWrite(name: string): never {
  throw new TypeErrorOfRealm(`Assignment to constant variable: ${name} is the session's, which alone can assign to it.`)
}
