// No internal name shows where code reads its own text, or what the engine says of it.
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

test.each([
  ["the text of a function that asks for a type", "String(() => typeof missing)", "() => typeof missing"],
  ["of one that asks at once", "String(function f(){return(typeof missing)})", "function f(){return(typeof missing)}"],
  [
    "a call of what `typeof` gives",
    "try { (typeof missing)() } catch (error) { error.message }",
    "(typeof missing) is not a function",
  ],
])("%s", async (_what, source, expected) => {
  expect((await new ResidentSession().eval(source)).value).toBe(expected)
})
