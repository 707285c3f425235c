// The nacre under measurement, and the memory of its processes as Linux states it.
import { readFileSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type { Nacre } from "../../runtime/index.ts"

/** The package as its users get it. Types come from the sources, since `dist/` may not exist when types are checked. */
export function built(): Promise<typeof import("../../runtime/index.ts")> {
  return import(new URL("../../dist/runtime/index.js", import.meta.url).href)
}

/** Another file of the build, for what can only be measured from inside. */
export function builtFile<T>(path: string): Promise<T> {
  return import(new URL(`../../dist/${path}`, import.meta.url).href)
}

/** Proportional set size; 0 where the system does not state it. */
export function pssBytes(pid: number): number {
  try {
    return Number(/^Pss:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

export function pssOf(nacre: Nacre): { embedder: number; hosts: number } {
  const hosts = nacre.placement().map(({ host }) => pssBytes(host.pid))
  return { embedder: pssBytes(process.pid), hosts: hosts.reduce((sum, bytes) => sum + bytes, 0) }
}

/** Bytes of this process's heap and of what it holds outside, after a full collection. */
export function liveBytes(): number {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  for (let i = 0; i < 3; i += 1) collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Resolves when every host has a thread, the spare too. */
export async function allHostsReady(nacre: Nacre): Promise<void> {
  const isReady = (): boolean => {
    const hosts = nacre.placement()
    return hosts.length > nacre.hosts.min && hosts.every(({ host, workers }) => !host.isDead && workers.length > 0)
  }
  while (!isReady()) await new Promise((resolve) => setTimeout(resolve, 5))
  // A thread takes a moment from its launch to its first eval.
  await new Promise((resolve) => setTimeout(resolve, 300))
}
