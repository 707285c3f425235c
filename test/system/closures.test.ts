// Functions as values across the death of hosts: what they capture is committed after every eval.
import { describe, expect, test } from "vitest"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre()

describe("functions that capture variables", () => {
  test("a rate limiter made by a factory lives through ten kills of its host", { timeout: 60_000 }, async () => {
    const session = await under.open()
    await session.eval(`
      function makeLimiter(perWindow: number) {
        let left = perWindow
        const refused: string[] = []
        return {
          take: (who: string) => { if (left > 0) { left--; return true } refused.push(who); return false },
          refill() { left = perWindow },
          get refused() { return refused.length },
        }
      }
      const limiter = makeLimiter(4), spare = limiter.take`)
    let taken = 0
    let refused = 0
    for (let kill = 0; kill < 10; kill++) {
      await under.killHosts()
      if (kill % 3 === 2) {
        await session.run(`limiter.refill()`)
        taken = 0
      }
      const outcome = await session.eval(`[limiter.take("a"), spare("b"), limiter.refused, spare === limiter.take]`)
      expect(outcome).toMatchObject({ status: "ok", lost: [], ephemeral: [], late: [] })
      const expected = [1, 2].map(() => (taken < 4 ? (taken++, true) : (refused++, false)))
      expect(outcome.value?.data).toEqual([...expected, refused, true])
    }
  })

  test("a fork has its own variables, and a mark brings them back", async () => {
    const session = await under.open()
    await session.eval(`let { up, read } = (() => { let n = 0; return { up: () => ++n, read: () => n } })()`)
    await session.run("up()")
    const fork = await session.fork()
    expect(await fork.run("up(); up()")).toBe(3)
    expect(await session.run("read()")).toBe(1)
    await session.mark("one")
    await session.run("up(); up()")
    await under.killHosts()
    await session.rollback("one")
    expect(await session.run("[read(), up()]")).toEqual([1, 2])
    expect(await fork.run("read()")).toBe(3)
  })

  test("an eval that is stopped changes nothing of them", async () => {
    const session = await under.open()
    await session.eval(`const count = (() => { let n = 0; return () => ++n })(); count()`)
    expect((await session.eval(`count(); count(); for (;;);`, { timeoutMs: 100 })).status).toBe("timeout")
    expect(await session.run("count()")).toBe(2)
    expect((await session.eval(`count(); throw 1`, { atomic: true })).lost).toEqual([])
    expect(await session.run("count()")).toBe(3)
  })

  test("seen from outside they are no data", async () => {
    const session = await under.open()
    await session.eval(
      `let f = ((n) => () => n)(1); const mixed = { f, n: 1 }; let clone = 0; try { structuredClone(f) } catch (e) { clone = e.kind }`,
    )
    expect((await refusal(Promise.resolve().then(() => session.bindings.at("f")))).kind).toBe("value_not_transferable")
    expect((await refusal(Promise.resolve().then(() => session.bindings.at("mixed")))).kind).toBe(
      "value_not_transferable",
    )
    expect(session.bindings.info("f")).toMatchObject({ held: "bytes" })
    expect(session.bindings.at("clone")).toBe("value_not_transferable")
    expect((await refusal(session.run("f"))).kind).toBe("value_not_transferable")
    expect(await session.run("String(f)")).toBe("() => n")
  })
})
