// A tree of three: a counter, a task that watches it, and a supervisor of sessions that come and go. The counter breaks, and what was
// started after it restarts with it. Everything is awaited by event, never by time.
import { createActor, fromTransition } from "xstate"
import { printTree, startSupervisor, supervisorSpec, task, whenExited } from "../../supervisor/index.ts"

const counter = fromTransition((count: number, event: { type: "add" | "break" }) => {
  if (event.type === "break") throw new Error("broken")
  return count + 1
}, 0)

const main = await startSupervisor(
  {
    strategy: "rest_for_one",
    intensity: 3,
    periodMs: 5000,
    children: [
      { id: "counter", start: () => createActor(counter) },
      {
        id: "watcher",
        restart: "transient",
        shutdown: 1000,
        start: () => task((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve))),
      },
      supervisorSpec("sessions", {
        strategy: "simple_one_for_one",
        childrenMax: 10_000,
        children: [{ id: "session", restart: "temporary", start: () => createActor(counter) }],
      }),
    ],
  },
  {
    name: "main",
    onReport: ({ event, supervisor, offender }) => console.log(`${event}: ${supervisor}/${offender.id}`),
  },
)

await main.nested("sessions")?.startChild(["ada"])
console.log(printTree(main))

const broken = main.child("counter")
broken?.send({ type: "break" })
if (broken !== undefined) await whenExited(broken)
console.log(await main.countChildren())

console.log(await main.startChild({ id: "counter", start: () => createActor(counter) }).then(({ ok }) => ok))
console.log(await main.stop())
