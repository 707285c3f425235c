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

describe("functions that need the class or the object around them", () => {
  const classes = `
    class Account {
      #balance = 0
      readonly #log: string[] = []
      deposit() { return (n: number) => { this.#log.push("+" + n); return (this.#balance += n) } }
      get history() { return () => this.#log.join() }
      static reader() { return (a: Account) => a.#balance }
    }
    class Savings extends Account {
      override deposit() { const plain = super.deposit(); return (n: number) => plain(n) + super.history().length }
      rate = () => super.history()
    }
    const plain = new Account(), savings = new Savings()
    const deposit = plain.deposit(), save = savings.deposit(), { rate } = savings, read = Account.reader(), { history } = plain
    const greeter = { __proto__: { hello(this: { name: string }) { return "hello " + this.name } }, name: "a", hello() { return () => super.hello() } } as any
    const hello = greeter.hello()`

  test("live through kills of their host, and go on sharing what they shared", { timeout: 60_000 }, async () => {
    const session = await under.open()
    expect(await session.eval(classes)).toMatchObject({ status: "ok", ephemeral: [], stale: [] })
    let balance = 0
    for (let kill = 0; kill < 5; kill++) {
      await under.killHosts()
      balance += 2
      const history = Array(kill + 1)
        .fill("+2")
        .join()
      const outcome = await session.eval(
        `greeter.name = "n${kill}"; [deposit(2), read(plain), history(), save(2) - rate().length, read(savings), rate(), hello()]`,
      )
      expect(outcome).toMatchObject({ status: "ok", lost: [], ephemeral: [] })
      expect(outcome.value?.data).toEqual([balance, balance, history, balance, balance, history, `hello n${kill}`])
    }
  })

  test("their errors have the places of the text, before a kill and after", async () => {
    const session = await under.open()
    await session.eval(
      `class A {\n  #n = 1\n  fail() {\n    return (o: any) => {\n      return o.#n\n    }\n  }\n}\nconst fail = new A().fail(), o = {\n  up() { return () => super.nope() } }, up = o.up()`,
      { file: "homes.ts" },
    )
    for (const isKilled of [false, true]) {
      if (isKilled) await under.killHosts()
      const { error } = await session.eval(`fail({})`, { file: "ask.ts" })
      expect(error).toMatchObject({
        name: "TypeError",
        message: "Cannot read private member #n from an object whose class did not declare it",
      })
      expect(error?.stack.map(({ file, line, column }) => [file, line, column])).toEqual([
        ["homes.ts", 5, 16],
        ["ask.ts", 1, 1],
      ])
      const { error: other } = await session.eval(`up()`, { file: "ask.ts" })
      expect(other).toMatchObject({ name: "TypeError", message: "(intermediate value).nope is not a function" })
      expect(other?.stack.map(({ file, line, column }) => [file, line, column])).toEqual([
        ["homes.ts", 10, 29],
        ["ask.ts", 1, 1],
      ])
      expect(await session.run(`[String(A), String(fail), String(up)].join().includes("$$")`)).toBe(false)
    }
  })

  test("marks, forks and stopped evals bring back what they held", async () => {
    const session = await under.open()
    await session.eval(`class C { #n = 0; up() { return () => ++this.#n } } const up = new C().up(); up()`)
    await session.mark("one")
    const fork = await session.fork()
    await session.run(`up(); up()`)
    expect((await session.eval(`up(); for (;;);`, { timeoutMs: 100 })).status).toBe("timeout")
    expect(await session.run(`up()`)).toBe(4)
    await under.killHosts()
    await session.rollback("one")
    expect(await session.run(`up()`)).toBe(2)
    expect((await session.eval(`up(); throw 1`, { atomic: true })).status).toBe("threw")
    expect(await session.run(`up()`)).toBe(3)
    expect(await fork.run(`up()`)).toBe(2)
  })

  test("changes of their class leave them what they are, and revisions come and go", { timeout: 60_000 }, async () => {
    const session = await under.open()
    await session.submit({ source: `class C { #n = 1; up() { return () => this.#n++ } who() { return "first" } }` })
    await session.eval(`const c = new C(), up = c.up(); up()`)
    const second = await session.submit({
      source: `class C { #n = 100; up() { return () => -this.#n } who() { return "second" } }`,
    })
    expect(second).toMatchObject({ status: "committed" })
    for (const isKilled of [false, true]) {
      if (isKilled) await under.killHosts()
      expect(await session.run(`[c.who(), new C().who(), new C().up()(), c instanceof C]`)).toEqual([
        "first",
        "second",
        -100,
        false,
      ])
      expect(await session.run(`up()`)).toBe(isKilled ? 3 : 2)
    }
    expect(await session.restoreRevision(1)).toMatchObject({ status: "committed" })
    await under.killHosts()
    expect(await session.run(`[up(), new C().up()()]`)).toEqual([4, 1])
    // Again by an eval: the instance is of a class that is gone already.
    expect(await session.eval(`class C { #n = 5; up() { return () => "third" } } new C().up()()`)).toMatchObject({
      status: "ok",
      value: { data: "third" },
    })
    await under.killHosts()
    expect(await session.run(`up()`)).toBe(5)
  })
})
