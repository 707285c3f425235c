// OS processes as children: a ready handshake, a real exit, a real SIGKILL.
import { spawn, type ChildProcess } from "node:child_process"
import { describe, expect, it } from "vitest"
import {
  osProcess,
  readyOsProcess,
  startSupervisor,
  whenExited,
  type ChildSpec,
  type Report,
} from "../../../supervisor/index.ts"

const stopsWhenAsked = `
  process.on("message", (message) => { if (message.type === "shutdown") process.exit(0) })
  process.send("ready")`
const ignoresAll = `
  process.on("SIGTERM", () => {})
  setInterval(() => {}, 1000)
  process.send({ type: "ready" })`
const diesUnready = `process.exit(3)`

function start(script: string): ChildProcess {
  return spawn(process.execPath, ["-e", script], { detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"] })
}

function spec(id: string, script: string, more: Partial<ChildSpec> = {}): ChildSpec {
  return { ...more, id, start: () => readyOsProcess(start(script)) }
}

function interrupt(child: ChildProcess): void {
  child.kill("SIGINT")
}

function waitFor(reports: Report[], event: Report["event"], count: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (reports.filter((report) => report.event === event).length >= count) resolve()
      else setImmediate(look)
    }
    look()
  })
}

describe("an OS process as a child", () => {
  it("is ready before its siblings start, is restarted when it is killed, and stops when asked", async () => {
    const reports: Report[] = []
    const supervisor = await startSupervisor(
      { intensity: 3, children: [spec("host", stopsWhenAsked)] },
      { onReport: (report) => reports.push(report) },
    )
    const first = supervisor.child("host")
    const pid = Number(first?.describe().slice("pid ".length))
    process.kill(pid, "SIGKILL")
    await waitFor(reports, "child.started", 2)
    expect(first?.exitReason).toEqual({ signal: "SIGKILL" })
    const second = supervisor.child("host")
    expect(second?.isAlive).toBe(true)
    expect(await supervisor.stop()).toBe("shutdown")
    expect(second?.exitReason).toBe("shutdown")
    expect(reports.map(({ event }) => event)).toEqual(["child.started", "child.terminated", "child.started"])
  })

  it("that ignores its stop is killed at the deadline, with its group, and is really gone", async () => {
    const reports: Report[] = []
    const supervisor = await startSupervisor(
      { children: [spec("host", ignoresAll, { shutdown: 50 })] },
      { onReport: (report) => reports.push(report) },
    )
    const host = supervisor.child("host")
    const pid = Number(host?.describe().slice("pid ".length))
    await supervisor.stop()
    expect(host?.exitReason).toBe("killed")
    expect(() => process.kill(pid, 0)).toThrow("ESRCH")
    expect(reports.at(-1)).toMatchObject({ event: "child.shutdownFailed", reason: "killed" })
  })

  it("that ends before it is ready, or cannot be spawned, has not started", async () => {
    await expect(startSupervisor({ children: [spec("host", diesUnready)] })).rejects.toMatchObject({
      exitReason: { shutdown: { failedToStartChild: "host", reason: { exitCode: 3 } } },
    })
    const missing: ChildSpec = { id: "missing", start: () => readyOsProcess(spawn("/nonexistent/program")) }
    await expect(startSupervisor({ children: [missing] })).rejects.toMatchObject({ kind: "start_failed" })
  })

  it("that never gets ready is killed", async () => {
    const child = start("setInterval(() => {}, 1000)")
    await expect(readyOsProcess(child, { readyTimeoutMs: 50 })).rejects.toMatchObject({
      kind: "start_failed",
      exitReason: { startTimeoutMs: 50 },
    })
    if (child.signalCode === null) await new Promise((resolve) => child.once("exit", resolve))
    expect(child.signalCode).toBe("SIGKILL")
  })

  it("may be given as it is, and may have its own way of stopping", async () => {
    const bare = await startSupervisor({
      children: [{ id: "bare", restart: "temporary", start: () => spawn("sleep", ["60"]) }],
    })
    const sleeping = bare.child("bare")
    expect(await bare.stop()).toBe("shutdown")
    expect(sleeping?.exitReason).toBe("shutdown")
    const own = await startSupervisor({
      children: [
        { id: "own", restart: "temporary", start: () => osProcess(spawn("sleep", ["60"]), { stop: interrupt }) },
      ],
    })
    const process = own.child("own")
    if (process === undefined) throw new Error("not started")
    const ended = whenExited(process)
    await own.stop()
    expect(await ended).toEqual({ signal: "SIGINT" })
  })
})
