// OTP's gen_server_SUITE and gen_statem_SUITE, as far as their names speak of the contract between processes.
//
// Here a process is whatever implements `ProcessLike`, so what those suites say of callbacks has no counterpart: `continue`,
// `hibernate`, `undef_in_terminate`, `get_state`/`replace_state` (an XState actor has `getSnapshot`), and of gen_statem `state_enter`,
// `state_timeout`, `timeout_cancel_and_update`, `generic_timers`, `pop_too_many` (XState's own entry actions and delayed transitions).
/* oxlint-disable typescript/no-unsafe-type-assertion -- a process takes unknown messages; here all are calls */
import { describe, expect, it } from "vitest"
import { call, Process, System, VirtualClock, type CallMessage, type ExitReason } from "../../../supervisor/index.ts"

interface Server {
  readonly process: Process
  readonly received: CallMessage<string, string>[]
  readonly exit: (reason: ExitReason) => void
}

function createWorld(onReceive?: (message: CallMessage<string, string>) => void) {
  const clock = new VirtualClock()
  const system = new System({ clock })
  const server = (): Server => {
    let tell: ((reason: ExitReason) => void) | undefined
    const received: CallMessage<string, string>[] = []
    const process = new Process(
      system,
      {
        kill: () => undefined,
        onExit: (listener) => {
          tell = listener
        },
        receive: (message) => {
          received.push(message as CallMessage<string, string>)
          onReceive?.(message as CallMessage<string, string>)
        },
      },
      "server",
    )
    return { process, received, exit: (reason) => tell?.(reason) }
  }
  const quiet = async (): Promise<void> => {
    do await new Promise<void>((resolve) => setImmediate(resolve))
    while (!system.queue.isIdle)
  }
  return { clock, system, server, quiet }
}

const echo = (message: CallMessage<string, string>): void => message.reply(`${message.request}!`)

describe("gen_server", () => {
  it("start: a process is alive, and dead once, with one reason", () => {
    const { server } = createWorld()
    const { process, exit } = server()
    expect(process.isAlive).toBe(true)
    exit("normal")
    exit("boom")
    process.kill()
    expect(process.exitReason).toBe("normal")
  })

  it("call", async () => {
    const { server, clock } = createWorld(echo)
    expect(await call<string>(server().process, "hello")).toBe("hello!")
    expect(clock.timerCount).toBe(0)
  })

  it("call: the deadline runs in the caller, 5 s unless told otherwise; a late answer is discarded", async () => {
    const { server, clock, quiet } = createWorld()
    const { process, received } = server()
    const answers: unknown[] = []
    call(process, "slow").then(
      (answer) => answers.push(answer),
      (error: unknown) => answers.push(error),
    )
    await quiet()
    expect(clock.nextDueMs).toBe(5000)
    clock.fireNext()
    await quiet()
    received[0]?.reply("late")
    await quiet()
    expect(answers).toEqual([expect.objectContaining({ kind: "timeout" })])
    expect(process.isAlive).toBe(true)
  })

  it("call: two answers are one answer", async () => {
    const { server } = createWorld((message) => {
      message.reply("first")
      message.reply("second")
      message.fail(new Error("third"))
    })
    expect(await call(server().process, "ask")).toBe("first")
  })

  it("crash: the caller learns the reason of a crash during the call, and noproc after it", async () => {
    const { server, clock } = createWorld(() => {
      throw new Error("crashed")
    })
    const { process } = server()
    await expect(call(process, "ask")).rejects.toMatchObject({
      kind: "exited",
      exitReason: { threw: { message: "crashed" } },
    })
    await expect(call(process, "ask")).rejects.toMatchObject({ kind: "noproc" })
    expect(clock.timerCount).toBe(0)
  })

  it("undef_in_handle_info: a receive that rejects is an exit too", async () => {
    const clock = new VirtualClock()
    const system = new System({ clock })
    const like = { kill: () => undefined, onExit: () => undefined, receive: () => Promise.reject(new Error("later")) }
    const process = new Process(system, like, "server")
    process.send("anything")
    await new Promise((resolve) => setImmediate(resolve))
    expect(process.exitReason).toMatchObject({ threw: { message: "later" } })
  })

  it("send_request: many calls are open at once, each gets its own answer", async () => {
    const { server } = createWorld()
    const { process, received } = server()
    const first = call(process, "1")
    const second = call(process, "2")
    await new Promise((resolve) => setImmediate(resolve))
    received[1]?.reply("to 2")
    received[0]?.reply("to 1")
    expect(await Promise.all([first, second])).toEqual(["to 1", "to 2"])
  })

  it("cast, info: a message is delivered later, in order, and not to the dead", async () => {
    const { server, quiet } = createWorld()
    const { process, received, exit } = server()
    process.send("1")
    process.send("2")
    expect(received).toEqual([])
    await quiet()
    expect(received).toEqual(["1", "2"])
    process.send("3")
    exit("normal")
    await quiet()
    expect(received).toEqual(["1", "2"])
  })

  it("calling_self", async () => {
    const { server } = createWorld(echo)
    const { process } = server()
    await expect(call(process, "ask", { from: process })).rejects.toMatchObject({ kind: "calling_self" })
  })

  it("call_with_huge_message_queue", async () => {
    const { server } = createWorld((message) => (typeof message === "object" ? echo(message) : undefined))
    const { process, received } = server()
    for (let at = 0; at < 50_000; at++) process.send(at)
    expect(await call(process, "last")).toBe("last!")
    expect(received.length).toBe(50_001)
  })

  it("reply_by_alias_with_payload: the callee answers a message, whoever asked", async () => {
    const { server } = createWorld((message) => message.reply(message.from?.label ?? "nobody"))
    const { process } = server()
    expect(await call(process, "who")).toBe("nobody")
    expect(await call(process, "who", { from: server().process })).toBe("server")
  })
})

describe("gen_statem", () => {
  it("event_order: a chain of 5,000 processes is no deeper than one stack frame each", async () => {
    const clock = new VirtualClock()
    const system = new System({ clock })
    let next: Process | undefined
    let reached = 0
    for (let at = 0; at < 5000; at++) {
      const after = next
      const receive = (): void => {
        reached++
        after?.send("go")
      }
      next = new Process(system, { kill: () => undefined, onExit: () => undefined, receive }, `p${at}`)
    }
    next?.send("go")
    while (!system.queue.isIdle) await new Promise((resolve) => setImmediate(resolve))
    expect(reached).toBe(5000)
  })

  it("stop_and_reply: an answer given before the end counts", async () => {
    const { server } = createWorld((message) => {
      message.reply("bye")
      throw new Error("and out")
    })
    expect(await call(server().process, "ask")).toBe("bye")
  })
})
