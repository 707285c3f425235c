// Resources of `using` and `await using`: what is to be disposed when a block ends, last first. The text that calls this is made by
// `runtime/language/desugar.ts`; the resources of an eval's own top level are disposed when its statements have ended.
import {
  applyFunction,
  defineOwn,
  descriptorOf,
  ErrorOf,
  hiddenValue,
  newList,
  PromiseOf,
  realmGlobal,
  symbolAsyncDispose,
  symbolDispose,
  TypeErrorOf,
} from "./intrinsics.ts"

interface Resource {
  readonly value: unknown
  /** `undefined`: nothing to dispose, but something to await. */
  readonly dispose: unknown
  readonly isAsync: boolean
}

/** What `await` is given where only its turn of the loop is wanted. */
const nothingYet = new PromiseOf<void>((resolve) => resolve())

type SuppressedErrorClass = new (error: unknown, suppressed: unknown, message?: string) => Error

const native = descriptorOf(realmGlobal, "SuppressedError")?.value as SuppressedErrorClass | undefined

/** The engine's own `SuppressedError`, or one like it. */
export const SuppressedErrorOf: SuppressedErrorClass = native ?? makeSuppressedError()

function makeSuppressedError(): SuppressedErrorClass {
  class SuppressedError extends ErrorOf {
    constructor(error: unknown, suppressed: unknown, message?: string) {
      super(message)
      defineOwn(this, "error", hiddenValue(error))
      defineOwn(this, "suppressed", hiddenValue(suppressed))
    }
  }
  defineOwn(SuppressedError.prototype, "name", hiddenValue("SuppressedError"))
  defineOwn(SuppressedError.prototype, "message", hiddenValue(""))
  return SuppressedError
}

export class Resources {
  readonly #stack: Resource[] = newList()
  #isAsync = false
  #hasError = false
  #error: unknown = undefined

  /** Notes what a declaration was given, and returns it. */
  add(value: unknown, isAsync: boolean): unknown {
    this.#isAsync ||= isAsync
    if (value === null || value === undefined) {
      if (isAsync) this.#push({ value: undefined, dispose: undefined, isAsync })
      return value
    }
    if (typeof value !== "object" && typeof value !== "function") throw new TypeErrorOf("Object expected.")
    const methods = value as Record<symbol, unknown>
    let dispose = isAsync ? methods[symbolAsyncDispose] : undefined
    const isOwnKind = dispose !== undefined && dispose !== null
    if (!isOwnKind) dispose = methods[symbolDispose]
    if (typeof dispose !== "function") throw new TypeErrorOf("Object not disposable.")
    // What a method without a promise of its own returns is not awaited for its answer.
    const called = isOwnKind || !isAsync ? dispose : ignoringResult(dispose)
    this.#push({ value, dispose: called, isAsync })
    return value
  }

  #push(resource: Resource): void {
    this.#stack[this.#stack.length] = resource
  }

  /** The block ended with an error. */
  fail(error: unknown): void {
    this.#error = error
    this.#hasError = true
  }

  /** Disposes of everything; throws what the block or a disposal threw. With `await using` it is over when the promise is. */
  end(): Promise<void> | undefined {
    if (this.#isAsync) return this.#endAsync()
    for (let resource = this.#pop(); resource !== undefined; resource = this.#pop()) {
      try {
        applyFunction(resource.dispose, resource.value, newList())
      } catch (error) {
        this.#failAgain(error)
      }
    }
    if (this.#hasError) throw this.#error
    return undefined
  }

  async #endAsync(): Promise<void> {
    let isOwed = false
    for (let resource = this.#pop(); resource !== undefined; resource = this.#pop()) {
      try {
        if (resource.dispose === undefined) {
          isOwed = true
          continue
        }
        if (!resource.isAsync && isOwed) {
          isOwed = false
          await nothingYet
        }
        const result = applyFunction(resource.dispose, resource.value, newList())
        if (!resource.isAsync) continue
        isOwed = false
        await result
      } catch (error) {
        this.#failAgain(error)
      }
    }
    if (this.#hasError) throw this.#error
  }

  #pop(): Resource | undefined {
    const { length } = this.#stack
    if (length === 0) return undefined
    const resource = this.#stack[length - 1]
    this.#stack.length = length - 1
    return resource
  }

  #failAgain(error: unknown): void {
    this.#error = this.#hasError
      ? new SuppressedErrorOf(error, this.#error, "An error was suppressed during disposal.")
      : error
    this.#hasError = true
  }
}

function ignoringResult(dispose: unknown): (this: unknown) => void {
  return function (this: unknown) {
    applyFunction(dispose, this, newList())
  }
}
