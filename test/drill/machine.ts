// What the operating system says of processes, read from Linux's /proc.
//
// Memory is stated as PSS where processes are summed (shared pages count once) and as RSS where one process is watched while it grows
// (PSS takes milliseconds to compute for a large process).
import { readFileSync, readdirSync } from "node:fs"

export interface ProcessInfo {
  pid: number
  parent: number
  state: string
  command: string
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // It has ended meanwhile, or is not ours to look at.
    return ""
  }
}

/** Processes whose command line contains the text; a zombie has none. */
export function processesNaming(text: string): ProcessInfo[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ ...statusOf(Number(name)), command: read(`/proc/${name}/cmdline`).replaceAll("\0", " ") }))
    .filter(({ pid, command }) => pid !== process.pid && command.includes(text))
}

export function isAlive(pid: number): boolean {
  const { state } = statusOf(pid)
  return state !== "" && state !== "Z"
}

export function statusOf(pid: number): { pid: number; parent: number; state: string } {
  const status = read(`/proc/${pid}/status`)
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1] ?? ""
  return { pid, parent: Number(field("PPid")), state: field("State") }
}

export function threadCount(pid: number = process.pid): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

export function rssBytes(pid: number): number {
  return kilobytes(read(`/proc/${pid}/status`), "VmRSS")
}

/** Proportional set size: its own pages and its share of those it shares. */
export function pssBytes(pid: number): number {
  return kilobytes(read(`/proc/${pid}/smaps_rollup`), "Pss")
}

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(text)?.[1] ?? 0) * 1024
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`
}

/** Watches the memory of processes that come and go. */
export class MemoryWatch {
  peakBytes = 0
  peakSumBytes = 0
  readonly #timer: NodeJS.Timeout

  constructor(pids: () => number[]) {
    this.#timer = setInterval(() => {
      const each = pids().map((pid) => rssBytes(pid))
      this.peakBytes = Math.max(this.peakBytes, ...each)
      this.peakSumBytes = Math.max(
        this.peakSumBytes,
        each.reduce((sum, bytes) => sum + bytes, 0),
      )
    }, 5)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
