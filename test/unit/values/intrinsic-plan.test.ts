// The intrinsics of a realm are found by the plan of another one: each must get the name that a walk of its own realm gives it.
import { expect, test } from "vitest"
import { bootRealm } from "./realm.ts"

test("a plan finds in another realm what a walk finds there", () => {
  const first = bootRealm()
  const second = bootRealm()
  const walked = second.captureIntrinsics(second.global)
  const planned = second.captureIntrinsics(second.global, first.references.plan)
  expect(Array.from(walked.plan.keys)).toEqual(Array.from(first.references.plan.keys))

  const seen = new Set<object>()
  const open: object[] = [second.global]
  const meet = (value: unknown): void => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return
    seen.add(value)
    open.push(value)
  }
  for (let object = open.pop(); object !== undefined; object = open.pop()) {
    for (const key of Reflect.ownKeys(object)) {
      const descriptor = Object.getOwnPropertyDescriptor(object, key)!
      meet(descriptor.value)
      meet(descriptor.get)
      meet(descriptor.set)
    }
    meet(Object.getPrototypeOf(object))
    const name = walked.nameOf(object)
    expect(planned.nameOf(object)).toBe(name)
    if (name !== undefined) expect(planned.resolve(name)).toBe(object)
  }
  expect(seen.size).toBeGreaterThan(600)
  expect(planned.nameOf({})).toBeUndefined()
})
