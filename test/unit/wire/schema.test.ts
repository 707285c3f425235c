import { inspect } from "node:util"
import { Packr } from "msgpackr"
import { describe, expect, test } from "vitest"
import { decoder, encodeMessage } from "../../../runtime/wire/schema.ts"
import type { MessageType, Vocabulary } from "../../../runtime/wire/schema.ts"
import { directions } from "./messages.ts"

const packr = new Packr({ useRecords: false })

type Fields = Record<string, unknown>

describe.each(Object.entries(directions))("%s", (_direction, { vocabulary, samples }) => {
  const decode = decoder<Vocabulary>(vocabulary)

  test("has a sample of every message, and no code twice", () => {
    expect(Object.keys(samples).toSorted()).toEqual(Object.keys(vocabulary).toSorted())
    const codes = Object.values(vocabulary as Vocabulary).map((it) => it.code)
    expect(new Set(codes).size).toBe(codes.length)
  })

  describe.each(Object.entries<MessageType>(vocabulary))("%s", (type, row) => {
    const sample = (samples as Record<string, Fields>)[type]!

    test("survives packing with every field", () => {
      expect(Object.keys(sample).toSorted()).toEqual(row.names.toSorted())
      expect(decode(packr.unpack(packr.pack(encodeMessage(row, sample))))).toEqual({ type, ...sample })
    })

    test("is refused when any part of any field is wrong, named by its field", () => {
      for (const [name, value] of Object.entries(sample)) {
        for (const wrong of spoilt(value, name)) {
          const packed = encodeMessage(row, sample)
          const at = row.names.indexOf(name)
          packed[at + 1] = packedAnyway(wrong)
          expect(() => decode(packed), `${name} as ${inspect(wrong)}`).toThrow(`field ${name} is not valid`)
          expect(() => encodeMessage(row, { ...sample, [name]: wrong })).toThrow(`field ${name} is not valid`)
        }
      }
    })

    test("may say more than is known, and leave out only what is optional", () => {
      const packed = encodeMessage(row, sample)
      expect(decode([...packed, "a field of a newer peer"])).toEqual({ type, ...sample })
      for (let length = 1; length < packed.length; length++) {
        const rest = row.checks.slice(length - 1)
        const isOptional = rest.every((check) => check(undefined))
        if (isOptional) expect(decode(packed.slice(0, length))).toBeDefined()
        else expect(() => decode(packed.slice(0, length))).toThrow("is not valid")
      }
    })
  })

  test("has no message of another code", () => {
    for (const code of [0, 999, -1, 1.5, "1", null, undefined, {}]) {
      expect(() => decode([code, 1, 2, 3])).toThrow("No message has the code")
    }
    for (const packed of [undefined, null, 5, "text", {}, new Uint8Array(3)]) {
      expect(() => decode(packed)).toThrow("must be an array")
    }
  })
})

test("no code means one message in one direction and another one in the other", () => {
  const all = Object.values(directions).flatMap(({ vocabulary }) => Object.values<MessageType>(vocabulary))
  expect(new Set(all.map((it) => it.code)).size).toBe(all.length)
})

/** As a peer sends it: records as arrays. The samples have every field, in the order of the table. */
function packedAnyway(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(packedAnyway)
  const isRecord = typeof value === "object" && value !== null && !(value instanceof Uint8Array) && !("length" in value)
  return isRecord ? Object.values(value).map(packedAnyway) : value
}

/** The value with each of its parts, down to the last leaf, replaced by something that fits nowhere. */
function spoilt(value: unknown, field = ""): unknown[] {
  // Fields that hold a plain value take any: wrong is what a message would not carry exactly.
  if (field === "value" || (field === "plain" && !Array.isArray(value))) return [-0, 1n, {}, "\ud800", Symbol("wrong")]
  const wrong: unknown[] = [null, Symbol("wrong")]
  if (value instanceof Uint8Array) wrong.push([...value], "bytes")
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const bad of spoilt(item)) wrong.push(value.with(index, bad))
    wrong.push({ length: 0 })
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      for (const bad of spoilt(item, key)) wrong.push({ ...value, [key]: bad })
  } else if (typeof value === "number") wrong.push("1", 1n)
  else if (typeof value === "string") wrong.push(1, [value])
  else if (typeof value === "boolean") wrong.push(1, "true")
  return wrong
}
