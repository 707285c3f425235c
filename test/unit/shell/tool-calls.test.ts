import { describe, expect, test } from "vitest"
import { defaultLimits } from "../../../runtime/options.ts"
import { ToolCalls, callingSession } from "../../../runtime/shell/tool-calls.ts"
import type { Tool, ToolResult } from "../../../runtime/shell/tool-calls.ts"
import { decodeForEmbedder, encodeForSession } from "../../../runtime/wire/values/embedder.ts"
import { VirtualClock } from "../../simulation/virtual-clock.ts"
import { until } from "../../until.ts"

function start(tools: Record<string, Tool>, limits: Partial<typeof defaultLimits> = {}) {
  const clock = new VirtualClock()
  const results: ToolResult[] = []
  const caller = { id: "ses_a", workspace: "main", principal: "ada", tools: new Map(Object.entries(tools)) }
  const calls = new ToolCalls(caller, "evl_a", { ...defaultLimits, ...limits }, clock, (it) => results.push(it))
  let last = 0
  const call = (name: string, ...args: unknown[]): number => {
    calls.start({ session: "ses_a", evalId: "evl_a", callId: ++last, name, bytes: encodeForSession(args) })
    return last
  }
  return { clock, results, calls, call }
}

describe("tool calls", () => {
  test("of a name that is not there answer tool_not_found", async () => {
    const { results, call } = start({})
    call("nothing")
    await until("the answer", () => results.length === 1)
    expect(results[0]).toMatchObject({ ok: false, kind: "tool_not_found" })
    expect(results[0]!.message).toContain("nothing")
  })

  test("answer with the value, and know their session while they run", async () => {
    const { results, call } = start({ who: async ([x]) => [x, callingSession.getStore()] })
    call("who", 5)
    await until("the answer", () => results.length === 1)
    expect(decodeForEmbedder(results[0]!.bytes)).toEqual([5, { session: "main/ses_a", evalId: "evl_a" }])
    expect(callingSession.getStore()).toBeUndefined()
  })

  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()
  const unreadable = {
    get: () => {
      throw new Error("trap")
    },
    getPrototypeOf: () => {
      throw new Error("trap")
    },
  }
  const getter = (name: string): Error =>
    Object.defineProperty(new Error("given"), name, {
      get() {
        throw new Error("getter")
      },
    })
  test.each<[string, unknown, string]>([
    ["an object without prototype", Object.create(null), "something that cannot be shown as text"],
    ["a revoked proxy", revoked, "something that cannot be shown as text"],
    ["a proxy whose traps throw", new Proxy({}, unreadable), "something that cannot be shown as text"],
    ["an error whose message cannot be read", getter("message"), "something that cannot be shown as text"],
    ["an error whose kind cannot be read", getter("kind"), "given"],
    ["an error whose message is an object", Object.assign(new Error("a"), { message: { b: 1 } }), "[object Object]"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["nothing", undefined, "undefined"],
  ])("that throw %s answer like all others", async (_what, thrown, message) => {
    const { results, call } = start({ fails: () => Promise.reject(thrown), works: () => 1 })
    call("fails")
    call("works")
    await until("both answers", () => results.length === 2)
    expect(results.find((it) => it.callId === 1)).toMatchObject({ ok: false, kind: "", message })
  })

  test("time out on their clock, tell the tool, and drop what it says later", async () => {
    let release!: (value: unknown) => void
    let signal: AbortSignal | undefined
    const hang: Tool = (_args, it) => {
      signal = it.signal
      return new Promise((resolve) => (release = resolve))
    }
    const { clock, results, call } = start({ hang }, { toolTimeoutMs: 100 })
    call("hang")
    await clock.advance(99)
    expect(results).toEqual([])
    await clock.advance(2)
    expect(results).toMatchObject([{ ok: false, kind: "tool_timeout" }])
    expect(signal!.aborted).toBe(true)
    release("late")
    await clock.advance(1)
    expect(results).toHaveLength(1)
  })

  test("that never settle keep no timer once their eval has ended", () => {
    const { clock, calls, call } = start({ hang: () => new Promise(() => {}) })
    let timers = 0
    const after = clock.after.bind(clock)
    clock.after = (ms, run) => {
      timers += 1
      const cancel = after(ms, run)
      return () => {
        timers -= 1
        cancel()
      }
    }
    call("hang")
    expect(timers).toBe(1)
    calls.abortAll()
    expect(timers).toBe(0)
  })

  test("beyond the limit wait for their turn, and are forgotten with the eval", async () => {
    const releases: (() => void)[] = []
    const signals: AbortSignal[] = []
    const hold: Tool = (_args, { signal }) => {
      signals.push(signal)
      return new Promise<void>((resolve) => releases.push(resolve))
    }
    const { clock, results, calls, call } = start({ hold }, { toolCallsMax: 2 })
    for (let i = 0; i < 5; i++) call("hold")
    expect(releases).toHaveLength(2)
    releases[0]!()
    await clock.advance(1)
    expect(releases).toHaveLength(3)
    calls.abortAll()
    expect(signals.map((it) => it.aborted)).toEqual([false, true, true])
    for (const release of releases) release()
    await clock.advance(1)
    expect(releases).toHaveLength(3)
    expect(results).toHaveLength(1)
  })

  test("that throw at once, or something that cannot travel, answer with the message", async () => {
    const { results, call } = start({
      throws: () => {
        throw Object.assign(new Error("at once"), { f: () => 1 })
      },
      gives: () => () => 1,
    })
    call("throws")
    call("gives")
    await until("the answers", () => results.length === 2)
    expect(results.map((it) => it.ok)).toEqual([false, false])
    expect(results[0]!.message).toBe("at once")
    expect(results[1]!.kind).toBe("value_not_transferable")
  })
})
