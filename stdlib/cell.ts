// The cell of one name: what compiled code holds instead of a variable.
//
// While the name is bound, `v` is an own data property, so that reading it costs one load. While it is not, the own property is absent
// and the accessor of the same name on the prototype answers: it asks for a global, or throws what the language throws. Writes go
// through `w`: it knows read-only names and dead zones, makes a session local of an unbound name, and remembers what the name held
// before the first write of an eval, which is also what a bindings view shows. `delete` of the property added last is the one way V8
// takes back a property without making the object slow, so `v` is always added last.
import {
  defineProperty,
  deleteProperty,
  descriptorOf,
  ErrorOfRealm,
  hasOwn,
  ReferenceErrorOfRealm,
  TypeErrorOfRealm,
} from "./intrinsics.ts"
import type { Definition, UnitGroup } from "./environment.ts"

export type CellState = "free" | "local" | "readonly" | "definition" | "import" | "dead" | "lost" | "guarded"

/** What a name held before an eval touched it. */
export interface Saved {
  readonly state: CellState
  /** Of an import: the function that reads the export. */
  readonly value: unknown
  readonly reason: string
}

/** What a name means that no session binds. `generation` says until when, if it may be kept: while the owner's is the same. */
export interface FreeValue {
  readonly value: unknown
  readonly generation: number | undefined
}

/** What a cell needs from the environment it belongs to. */
export interface CellOwner {
  /** Called at the first change of a cell in an eval. */
  touched(cell: Cell): void
  /** Called when a name begins or ceases to be bound. */
  bound(cell: Cell, isBound: boolean): void
  /** A workspace global, class of the registry or realm global; `undefined` when there is none of that name. */
  resolveFree(name: string): FreeValue | undefined
  /** What reading a name throws that means nothing here, when there is more to say than that. */
  missing?(name: string): Error | undefined
  /** Moves whenever a global of the workspace may have changed. */
  generation(): number
  /** Whether the name is a global of the workspace, which an assignment never writes. */
  isShared(name: string): boolean
}

export class Cell {
  readonly name: string
  readonly owner: CellOwner
  state: CellState = "free"
  saved: Saved | undefined = undefined
  /** The global that the name meant last, so that a loop need not look it up at each turn. */
  kept: FreeValue | undefined = undefined
  reason = ""
  /** The definition that provides the name. */
  definition: Definition | undefined = undefined
  /** Groups with a factory parameter of that name. */
  dependents: Set<UnitGroup> | undefined = undefined
  /** The same for groups that reach the name through this cell: they need not be made again for it to be seen. */
  readers: Set<UnitGroup> | undefined = undefined
  constructor(name: string, owner: CellOwner) {
    this.name = name
    this.owner = owner
  }

  /** Answers while no own property of this name stands in front of it. */
  get v(): unknown {
    const { name, state, kept } = this
    if (kept !== undefined && state === "free" && kept.generation === this.owner.generation()) return kept.value
    if (state === "dead") throw new ReferenceErrorOfRealm(`Cannot access '${name}' before initialization`)
    if (state === "lost") {
      const error = new ErrorOfRealm(`The binding '${name}' was lost: ${this.reason}`)
      const kind = { __proto__: null, value: "binding_lost", writable: true, configurable: true }
      throw defineProperty(error, "kind", kind as PropertyDescriptor)
    }
    if (state === "guarded") {
      const error = new ErrorOfRealm(`A definition must not read '${name}', a local of the session, while it is made`)
      const kind = { __proto__: null, value: "local_read", writable: true, configurable: true }
      throw defineProperty(error, "kind", kind as PropertyDescriptor)
    }
    const found = this.owner.resolveFree(name)
    if (found === undefined) {
      throw this.owner.missing?.(name) ?? new ReferenceErrorOfRealm(`${name} is not defined`)
    }
    this.kept = found.generation === undefined ? undefined : found
    return found.value
  }

  set v(value: unknown) {
    this.w = value
  }

  /** The read of a compound assignment: a global is no binding, so there is nothing to assign to. */
  get w(): unknown {
    if (this.state === "free" && this.owner.isShared(this.name)) {
      throw new ReferenceErrorOfRealm(
        `${this.name} is not defined in this session: it is the workspace's, and an assignment makes a name of the session's own`,
      )
    }
    return this.v
  }

  set w(value: unknown) {
    if (this.state === "local") {
      if (this.saved === undefined) touch(this)
      this.v = value
    } else assignUnbound(this, value)
  }

  /** The form of `typeof name`, which never throws for a name that is not bound. */
  get t(): string {
    if (hasOwn(this, "v") || this.state !== "free") return typeof this.v
    const found = this.owner.resolveFree(this.name)
    return found === undefined ? "undefined" : typeof found.value
  }

  /** Initialisation by `let`, `var`, `class`. */
  set i(value: unknown) {
    bindCell(this, "local", value)
  }

  /** Initialisation by `const`. */
  set c(value: unknown) {
    bindCell(this, "readonly", value)
  }
}

/** What the name holds now. */
export function savedOf(cell: Cell): Saved {
  const { state, definition } = cell
  // A change may make thousands again; each says itself what its name holds.
  if (state === "definition" && definition !== undefined && definition.value === cell.v) return definition
  const isBound = hasOwn(cell, "v")
  if (state === "import") return { state, value: readOfImport(cell), reason: "" }
  return { state, value: isBound ? cell.v : undefined, reason: cell.reason }
}

function touch(cell: Cell): void {
  cell.saved = savedOf(cell)
  cell.owner.touched(cell)
}

function assignUnbound(cell: Cell, value: unknown): void {
  switch (cell.state) {
    case "dead":
      throw new ReferenceErrorOfRealm(`Cannot access '${cell.name}' before initialization`)
    case "readonly":
    case "definition":
    case "import":
      throw new TypeErrorOfRealm("Assignment to constant variable.")
    default:
      bindCell(cell, "local", value)
  }
}

/** Binds a name, whatever it was before. */
export function bindCell(cell: Cell, state: "local" | "readonly" | "definition", value: unknown): void {
  if (cell.saved === undefined) touch(cell)
  if (cell.state === state && state === "definition") {
    cell.v = value
    return
  }
  const wasBound = hasOwn(cell, "v")
  if (wasBound && state === "local" && cell.state === "local") {
    cell.v = value
    return
  }
  if (wasBound && cell.state === state) {
    defineProperty(cell, "v", { __proto__: null, value } as PropertyDescriptor)
    return
  }
  if (wasBound) deleteProperty(cell, "v")
  cell.state = state
  // Nothing but this file writes `v`. That of a definition can be written so that many are made again in little time; it differs from a local's
  // by an attribute that nobody asks for, since the compiler goes on taking a property for constant that it has not seen written in any object alike.
  const isWritten = state !== "readonly"
  const descriptor = {
    __proto__: null,
    value,
    writable: isWritten,
    enumerable: state !== "definition",
    configurable: true,
  }
  defineProperty(cell, "v", descriptor as PropertyDescriptor)
  if (!wasBound) cell.owner.bound(cell, true)
}

/** Binds a name to an export of a module: `read` gives what that is at the time. */
export function bindImport(cell: Cell, read: () => unknown): void {
  if (cell.saved === undefined) touch(cell)
  const wasBound = hasOwn(cell, "v")
  if (wasBound) deleteProperty(cell, "v")
  cell.state = "import"
  const descriptor = { __proto__: null, get: read, enumerable: true, configurable: true }
  defineProperty(cell, "v", descriptor as PropertyDescriptor)
  if (!wasBound) cell.owner.bound(cell, true)
}

export function readOfImport(cell: Cell): () => unknown {
  return descriptorOf(cell, "v")!.get!
}

/** Takes a name's value away: free, in its dead zone, lost for a reason, or kept from definitions that are being made. */
export function unbindCell(cell: Cell, state: "free" | "dead" | "lost" | "guarded", reason = ""): void {
  if (cell.saved === undefined) touch(cell)
  const wasBound = hasOwn(cell, "v")
  if (wasBound) deleteProperty(cell, "v")
  cell.state = state
  cell.reason = reason
  if (wasBound) cell.owner.bound(cell, false)
}

/** Puts back what the name held before the eval, or before whatever else `saved` was kept for. */
export function restoreCell(cell: Cell, saved: Saved | undefined = cell.saved): void {
  if (saved === undefined) return
  const { state, value, reason } = saved
  if (state === "import") bindImport(cell, value as () => unknown)
  else if (state === "local" || state === "readonly" || state === "definition") bindCell(cell, state, value)
  else unbindCell(cell, state, reason)
}
