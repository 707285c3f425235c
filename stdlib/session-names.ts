// What files see of the session that loads them (`nacre:session`): its own bindings, each looked up when it is used.
//
// A name is bound to nothing here, so a redefinition, an assignment, an earlier revision in force and a candidate that is being made show at the next
// use. Only what the session binds itself is there: neither globals nor classes of the workspace. While a file is evaluated its uses are
// noted, since what it then keeps of them does not follow.
import type { Cell } from "./cell.ts"
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

/** What files have used since one began to be evaluated, in order; `undefined` when none is being evaluated. */
interface Notes {
  list: string[] | undefined
}

export class SessionNames {
  readonly #environment: Environment
  readonly #notes: Notes = { list: undefined }
  readonly #all = createObject(null) as Record<string, unknown>
  #shown: string[] = newList()

  constructor(environment: Environment) {
    this.#environment = environment
    defineOwn(this.#all, toStringTag, { __proto__: null, value: "Module" } as PropertyDescriptor)
  }

  /** A file is being evaluated from now on. */
  begin(): void {
    this.#notes.list ??= newList()
  }

  /** No file is any more; gives the names that were read. */
  end(): string[] {
    const noted = this.#notes.list ?? newList<string>()
    this.#notes.list = undefined
    return noted
  }

  /** `name` for the file at `path`; all names for "*". */
  name(name: string, path: string): SessionName {
    if (name === "*") return new WholeSession(() => this.all())
    return new OneName(this.#environment.cell(name), path, this.#notes)
  }

  /** An object with a getter for each name that the session binds now. It is always the same object. */
  all(): object {
    const names = this.#environment.names()
    if (this.#notes.list !== undefined) arrayPush(this.#notes.list, "*")
    for (let index = 0; index < this.#shown.length; index++) {
      if (!this.#environment.has(this.#shown[index]!)) deleteOwn(this.#all, this.#shown[index]!)
    }
    for (let index = 0; index < names.length; index++) {
      const cell = this.#environment.cell(names[index]!)
      const getter = { __proto__: null, get: () => cell.v, enumerable: true, configurable: true }
      if (!hasOwn(this.#all, cell.name)) defineOwn(this.#all, cell.name, getter)
    }
    this.#shown = names
    return this.#all
  }
}

/** A class of its own and no object with accessors: code that calls the session in a loop gets these inlined. */
class OneName implements SessionName {
  readonly #cell: Cell
  readonly #path: string
  readonly #notes: Notes

  constructor(cell: Cell, path: string, notes: Notes) {
    this.#cell = cell
    this.#path = path
    this.#notes = notes
  }

  get v(): unknown {
    const cell = this.#cell
    if (this.#notes.list !== undefined) arrayPush(this.#notes.list, cell.name)
    if (cell.state === "free") {
      throw new ReferenceErrorOfRealm(
        `${cell.name} is not defined: the session has no such name, which ${this.#path} imports from nacre:session`,
      )
    }
    return cell.v
  }

  set v(_value: unknown) {
    refuseWrite(this.#cell.name)
  }

  get w(): unknown {
    return this.v
  }

  set w(_value: unknown) {
    refuseWrite(this.#cell.name)
  }

  get t(): string {
    return typeof this.o
  }

  get o(): unknown {
    if (this.#cell.state !== "free") return this.v
    if (this.#notes.list !== undefined) arrayPush(this.#notes.list, this.#cell.name)
    return undefined
  }
}

class WholeSession implements SessionName {
  readonly t = "object"
  readonly #all: () => object

  constructor(all: () => object) {
    this.#all = all
  }

  get v(): unknown {
    return this.#all()
  }

  set v(_value: unknown) {
    refuseWrite("the namespace of nacre:session")
  }

  get w(): unknown {
    return this.#all()
  }

  set w(_value: unknown) {
    refuseWrite("the namespace of nacre:session")
  }

  get o(): unknown {
    return this.#all()
  }
}

function refuseWrite(name: string): never {
  throw new TypeErrorOfRealm(`Assignment to constant variable: ${name} is the session's, which alone can assign to it.`)
}
