// The type of a value as TypeScript text, for names whose declarations nobody checked: what completes after a dot, and never a reason to
// refuse code.
//
// It looks at a decoded copy of a committed value, to a bounded depth and width, and says `any` where it stops.

const depthMax = 4
const propertiesMax = 50
const elementsMax = 10
const identifier = /^[A-Za-z_$][\w$]*$/

export function typeOfValue(value: unknown, depth = 0): string {
  if (typeof value === "function" || (typeof value === "object" && value !== null && depth >= depthMax)) return "any"
  if (value === null) return "null"
  return typeof value === "object" ? typeOfObject(value, depth + 1) : typeof value
}

function typeOfObject(value: object, depth: number): string {
  if (Array.isArray(value)) return `${union(value.slice(0, elementsMax), depth, value.length > elementsMax)}[]`
  if (value instanceof Map) {
    const entries = [...value].slice(0, elementsMax)
    const isMore = value.size > elementsMax
    return `Map<${union(
      entries.map(([key]): unknown => key),
      depth,
      isMore,
    )}, ${union(
      entries.map(([, it]): unknown => it),
      depth,
      isMore,
    )}>`
  }
  if (value instanceof Set) return `Set<${union([...value].slice(0, elementsMax), depth, value.size > elementsMax)}>`
  if (value instanceof Error) return "Error"
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return nameOfClass(value)
  const names = Object.keys(value)
  if (names.length > propertiesMax) return "Record<string, any>"
  const properties = names.map((name) => {
    const descriptor = Object.getOwnPropertyDescriptor(value, name)
    const key = identifier.test(name) ? name : JSON.stringify(name)
    return `${key}: ${descriptor !== undefined && "value" in descriptor ? typeOfValue(descriptor.value, depth) : "any"}`
  })
  return `{ ${properties.join("; ")} }`
}

/** Classes of the language whose names are types in every session. */
const known = new Set(
  "Date RegExp ArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array Float64Array BigInt64Array BigUint64Array URL URLSearchParams".split(
    " ",
  ),
)

function nameOfClass(value: object): string {
  const name = (value.constructor as { name?: unknown } | undefined)?.name
  return typeof name === "string" && known.has(name) ? name : "any"
}

function union(values: readonly unknown[], depth: number, isMore: boolean): string {
  const types = new Set(values.map((value) => typeOfValue(value, depth)))
  if (types.size === 0 || types.has("any") || types.size > 4) return "any"
  // What was not looked at may be anything, but most often it is more of the same.
  if (isMore && types.size > 2) return "any"
  return types.size === 1 ? bracket([...types][0]!) : `(${[...types].join(" | ")})`
}

function bracket(type: string): string {
  return /^[\w$]+$/.test(type) || type.endsWith("]") || type.startsWith("{") ? type : `(${type})`
}
