// A constant that holds a definition holds the one in force, also when that is made again behind it in the same eval.
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

test.each([
  ["before and behind", "const top = { mid }; const low = () => 2; const last = { mid }; 0"],
  [
    "through another constant",
    "const inner = [mid]; const top = { mid, inner }; const low = () => 2; const last = { mid }; 0",
  ],
])("what depends on a definition follows it, %s", async (_where, source) => {
  const session = new ResidentSession()
  await session.run("const low = () => 1; const mid = () => low(); 0")
  await session.run(source)
  const look = "[mid(), top.mid === mid, top.mid(), last.mid === mid].join()"
  expect(await session.run(look)).toBe("2,true,2,true")
  session.rebuild()
  expect(await session.run(look)).toBe("2,true,2,true")
  await session.run("const mid = () => 9; 0")
  expect(await session.run(look)).toBe("9,true,9,true")
})

test("a function that reads a definition when it is called stays the one it is", async () => {
  const session = new ResidentSession()
  await session.run("const low = () => 1; const mid = () => low(); 0")
  expect(
    await session.run("const late = () => mid(); let kept = late; const low = () => 2; [kept === late, late()].join()"),
  ).toBe("true,2")
})
