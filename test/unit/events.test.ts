import { describe, expect, test } from "vitest"
import { EventLog } from "../../runtime/events.ts"
import type { NacreEvent } from "../../runtime/events.ts"

function show(log: EventLog, workspace: string, text = "line"): void {
  log.emit({ type: "transcript.shown", workspace, session: "ses_a", evalId: "evl_a", text })
}

function start(): { log: EventLog; failures: unknown[] } {
  const failures: unknown[] = []
  return { log: new EventLog((error) => failures.push(error)), failures }
}

describe("an event log", () => {
  test("numbers events without gaps, and replays those after a number in their order before what comes", () => {
    const { log } = start()
    for (let n = 0; n < 5; n++) show(log, "main")
    const seen: number[] = []
    const { seq, isComplete, detach } = log.attach((event) => seen.push(event.seq), { since: 2 })
    show(log, "main")
    detach()
    show(log, "main")
    expect([seen, seq, isComplete]).toEqual([[3, 4, 5, 6], 5, true])
  })

  test("says when some are gone, however they went, and keeps the last ones", () => {
    for (const [count, text] of [
      [2_500, "short"],
      [40, "x".repeat(100_000)],
    ] as const) {
      const { log } = start()
      for (let n = 0; n < count; n++) show(log, "main", text)
      const seen: number[] = []
      const { isComplete } = log.attach((event) => seen.push(event.seq), { since: 0 })
      expect(isComplete).toBe(false)
      expect(seen.at(-1)).toBe(count)
      expect(seen).toEqual(seen.map((_, index) => seen[0]! + index))
      expect(log.attach(() => {}, { since: seen[0]! - 1 }).isComplete).toBe(true)
      expect(log.attach(() => {}, { since: seen[0]! - 2 }).isComplete).toBe(false)
    }
  })

  test("a text above what is kept is given to those who listen, and leaves the log working", () => {
    const { log } = start()
    const seen: NacreEvent[] = []
    log.attach((event) => seen.push(event))
    show(log, "main", "x".repeat(2_000_000))
    show(log, "main")
    expect(seen.length).toBe(2)
    expect(log.attach(() => {}, { since: 1 }).isComplete).toBe(true)
  })

  test("gives what was asked for: a workspace's events with those of none, a session's alone", () => {
    const { log } = start()
    const seen: Record<string, number[]> = { a: [], session: [] }
    log.attach((event) => seen["a"]!.push(event.seq), { workspace: "a" })
    log.attach((event) => seen["session"]!.push(event.seq), { session: "ses_a", workspace: "b" })
    show(log, "a")
    show(log, "b")
    log.emit({ type: "host.started", host: "hst_1", pid: 1 })
    log.emit({ type: "session.opened", session: "ses_b", workspace: "b" })
    expect(seen).toEqual({ a: [1, 3], session: [2] })
  })

  test("a listener that throws is told of, and the others hear all the same", () => {
    const { log, failures } = start()
    const seen: number[] = []
    log.attach(() => {
      throw new Error("mine")
    })
    log.attach((event) => seen.push(event.seq))
    show(log, "main")
    expect([seen, failures.map(String)]).toEqual([[1], ["Error: mine"]])
  })

  test("everybody gets every event in its order, whatever listeners make happen", () => {
    const { log, failures } = start()
    const seen: number[][] = [[], [], []]
    const late: number[] = []
    log.attach((event) => {
      seen[0]!.push(event.seq)
      if (event.seq === 1) show(log, "main")
      if (event.seq === 2) show(log, "main")
    })
    log.attach((event) => {
      seen[1]!.push(event.seq)
      if (event.seq === 1) log.attach((it) => late.push(it.seq))
      if (event.seq === 2) log.attach((it) => seen[2]!.push(it.seq), { since: 0 })
    })
    show(log, "main")
    show(log, "main")
    expect([seen, late, failures]).toEqual([
      [
        [1, 2, 3, 4],
        [1, 2, 3, 4],
        [1, 2, 3, 4],
      ],
      [3, 4],
      [],
    ])
  })

  test("what one listener does to an event is not what others see", () => {
    const { log, failures } = start()
    const seen: string[] = []
    log.attach((event) => Object.assign(event, { text: "changed" }))
    log.attach((event) => seen.push("text" in event ? event.text : ""))
    show(log, "main")
    log.attach((event) => seen.push("text" in event ? event.text : ""), { since: 0 })
    expect([seen, failures.length]).toEqual([["line", "line"], 1])
  })

  test("what happens while missed events are given comes after them", () => {
    const { log } = start()
    for (let n = 0; n < 3; n++) show(log, "main")
    const seen: number[] = []
    log.attach(
      (event) => {
        seen.push(event.seq)
        if (event.seq <= 2) show(log, "main")
      },
      { since: 0 },
    )
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })
})
