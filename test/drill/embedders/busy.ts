// An embedder that is meant to be killed: its evals compute, wait, stand in native code; it prints its hosts' process ids and goes on.
import { allHostsReady, built, hostPids, pause } from "../drill.ts"

const { Nacre } = await built()
const nacre = await Nacre.start({ tools: { never: () => new Promise(() => {}) } })
await allHostsReady(nacre)
const sources = [
  "for (;;);",
  "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
  "await tools.never()",
  "const again = (): void => { setTimeout(again, 1) }; again(); await new Promise(() => {})",
]
for (const source of sources) {
  const session = await nacre.open()
  void session.eval(source, { timeoutMs: Infinity })
}
await pause(200)
console.log(JSON.stringify(hostPids(nacre)))
