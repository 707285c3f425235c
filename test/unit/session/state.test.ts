// The committed state against a naive model: a Map of names, each with how it is held and what it is.
import fc from "fast-check"
import { packPlainValue } from "../../../runtime/wire/values/pack.ts"
import { describe, expect, test } from "vitest"
import {
  SessionState,
  checkpointOf,
  commitDelta,
  commitQueue,
  copyState,
  ephemeralNames,
  historySince,
  loseRealm,
  resetState,
  restoreState,
  takeChanges,
} from "../../../runtime/session/state.ts"
import { Definitions } from "../../../runtime/module/definitions.ts"
import type { QueuedWrite } from "../../../runtime/wire/mutations.ts"
import type { Checkpoint, DefinitionRecord, Delta } from "../../../runtime/wire/schema.ts"

type Held = { held: "bytes"; value: string; readonly: boolean } | { held: "realm" | "lost"; readonly: boolean }
type Model = Map<string, Held | { held: "source"; dependencies: readonly string[] }>

const names = ["a", "b", "c", "d", "e", "f"]
const realm = { tools: ["t"], kind: "repl", profile: "standard", capabilities: [], directory: "/d" }
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

function definition(name: string, dependencies: readonly string[] = []): DefinitionRecord {
  return {
    name,
    kind: "function",
    source: `function ${name}() {}`,
    file: "a.ts",
    line: 1,
    column: 1,
    dependencies: [...dependencies],
    digest: name,
  }
}

const emptyDelta: Delta = {
  set: [],
  removed: [],
  cleared: false,
  groups: [],
  ephemeral: [],
  definitions: [],
  removedDefinitions: [],
  late: [],
  realmOnly: [],
  stale: [],
}

/** The state as the model's map, read through the checkpoint that a realm would be built from. */
function decoded(checkpoint: Checkpoint): Model {
  const model: Model = new Map()
  const isReadonly = new Map(checkpoint.locals.map((it) => [it.name, it.readonly]))
  for (const { name, dependencies } of checkpoint.definitions) model.set(name, { held: "source", dependencies })
  for (const { names: members, bytes } of checkpoint.groups) {
    for (const name of members)
      model.set(name, { held: "bytes", value: textOf(bytes), readonly: isReadonly.get(name)! })
  }
  for (const { name } of checkpoint.lost) model.set(name, { held: "lost", readonly: isReadonly.get(name)! })
  return model
}

const sorted = (model: Model): unknown => [...model].toSorted(([a], [b]) => (a < b ? -1 : 1))

/** The model as a checkpoint shows it: a realm that is built anew has nothing that only the old one held. */
const rebuilt = (model: Model): Model =>
  new Map([...model].map(([name, it]) => [name, it.held === "realm" ? { held: "lost", readonly: it.readonly } : it]))

type Event =
  | { type: "set"; groups: string[][]; readonly: string[]; what: "bytes" | "realm" }
  | { type: "define"; name: string; dependencies: string[] }
  | { type: "remove"; name: string }
  | { type: "clear"; then: string }
  | { type: "queue"; queue: ({ op: "atPut" | "removeKey"; key: string; encodes: boolean } | { op: "clear" })[] }
  | { type: "lose" | "reset" | "mark" | "restore" }

const name = fc.constantFrom(...names)
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    type: fc.constant("set" as const),
    groups: fc.shuffledSubarray(names, { minLength: 1 }).chain((chosen) =>
      fc.array(fc.boolean(), { minLength: chosen.length, maxLength: chosen.length }).map((joins) => {
        const groups: string[][] = []
        for (const [index, it] of chosen.entries()) {
          if (joins[index] && groups.length > 0) groups.at(-1)!.push(it)
          else groups.push([it])
        }
        return groups
      }),
    ),
    readonly: fc.subarray(names),
    what: fc.constantFrom("bytes" as const, "bytes" as const, "realm" as const),
  }),
  fc.record({ type: fc.constant("define" as const), name, dependencies: fc.subarray(names) }),
  fc.record({ type: fc.constant("remove" as const), name }),
  fc.record({ type: fc.constant("clear" as const), then: name }),
  fc.record({
    type: fc.constant("queue" as const),
    queue: fc.array(
      fc.oneof(
        {
          weight: 8,
          arbitrary: fc.record({
            op: fc.constantFrom("atPut" as const, "removeKey" as const),
            key: name,
            encodes: fc.boolean(),
          }),
        },
        { weight: 1, arbitrary: fc.constant({ op: "clear" as const }) },
      ),
      { maxLength: 6 },
    ),
  }),
  fc.record({ type: fc.constantFrom("lose" as const, "reset" as const, "mark" as const, "restore" as const) }),
)

test("any history leaves what a naive model has, and its checkpoint decodes to it", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 25 }), (events) => {
      const state = new SessionState()
      let model: Model = new Map()
      let marked: { state: SessionState; model: Model } | undefined
      let values = 0
      for (const it of events) {
        const { commit, revision } = state
        const module = definedNames(model)
        switch (it.type) {
          case "set": {
            const set: NonNullable<Delta["set"]> = []
            const groups: NonNullable<Delta["groups"]> = []
            const ephemeral: NonNullable<Delta["ephemeral"]> = []
            const delta: Delta = { ...emptyDelta, set, groups, ephemeral }
            for (const members of it.groups) {
              const value = `v${++values}`
              for (const member of members) {
                const readonly = it.readonly.includes(member)
                set.push({ name: member, readonly })
                if (it.what === "bytes") model.set(member, { held: "bytes", value, readonly })
                else {
                  model.set(member, { held: "realm", readonly })
                  ephemeral.push({ name: member, what: "a promise" })
                }
              }
              if (it.what === "bytes") groups.push({ names: members, bytes: bytesOf(value) })
            }
            expect(commitDelta(state, delta).set).toEqual(it.groups.flat())
            expect(state.commit).toBe(commit + 1)
            break
          }
          case "define":
            commitDelta(state, { ...emptyDelta, definitions: [definition(it.name, it.dependencies)] })
            model.set(it.name, { held: "source", dependencies: it.dependencies })
            expect(state.commit).toBe(commit + 1)
            break
          case "remove": {
            const isDefinition = model.get(it.name)?.held === "source"
            const removed = [it.name]
            commitDelta(state, { ...emptyDelta, ...(isDefinition ? { removedDefinitions: removed } : { removed }) })
            model.delete(it.name)
            break
          }
          case "clear":
            commitDelta(state, {
              ...emptyDelta,
              cleared: true,
              set: [{ name: it.then, readonly: false }],
              groups: [{ names: [it.then], bytes: bytesOf("after") }],
            })
            model = new Map([[it.then, { held: "bytes", value: "after", readonly: false }]])
            break
          case "queue": {
            const { queue, after, rejected } = expectedOfQueue(model, it.queue)
            const change = commitQueue(state, queue)
            model = after
            expect(change.rejected.map(({ key }) => key).toSorted()).toEqual(rejected)
            const isChanged = change.set.length + change.removed.length > 0 || change.cleared
            expect(state.commit).toBe(isChanged ? commit + 1 : commit)
            break
          }
          case "lose": {
            const held = [...model].filter(([, { held: how }]) => how === "realm").map(([found]) => found)
            expect(ephemeralNames(state).toSorted()).toEqual(held.toSorted())
            expect(loseRealm(state, "its host ended").toSorted()).toEqual(held.toSorted())
            model = rebuilt(model)
            expect(state.commit).toBe(held.length > 0 ? commit + 1 : commit)
            break
          }
          case "reset":
            resetState(state)
            model = new Map()
            expect(state.commit).toBe(commit + 1)
            break
          case "mark":
            marked = { state: copyState(state), model: new Map(model) }
            break
          case "restore": {
            if (marked === undefined) break
            const lost = restoreState(state, marked.state)
            const held = [...marked.model].filter(([, { held: how }]) => how === "realm").map(([found]) => found)
            expect(lost.toSorted()).toEqual(held.toSorted())
            model = rebuilt(marked.model)
            expect(state.commit).toBeGreaterThan(commit)
            break
          }
        }
        // A revision is another set of definitions; data alone is none, and neither is the same text again.
        const isAnother = definedNames(model) !== module
        expect(state.revision).toBe(isAnother ? revision + 1 : revision)
        expect(historySince(state, revision).length).toBe(isAnother ? 1 : 0)
        expect(state.definitions.digest).toBe(new Definitions(state.definitions).digest)
        expect(sorted(decoded(checkpointOf(state, realm)))).toEqual(sorted(rebuilt(model)))
        if (marked !== undefined)
          expect(sorted(decoded(checkpointOf(marked.state, realm)))).toEqual(sorted(rebuilt(marked.model)))
      }
    }),
    { numRuns: 300 },
  )
})

/** The definitions' names; their texts depend on nothing else. */
const definedNames = (model: Model): string =>
  [...model]
    .filter(([, { held }]) => held === "source")
    .map(([defined]) => defined)
    .toSorted()
    .join()

/** The queue entry by entry on the model, refusing what a definition forbids. */
function expectedOfQueue(
  model: Model,
  entries: Extract<Event, { type: "queue" }>["queue"],
): { queue: QueuedWrite[]; after: Model; rejected: string[] } {
  const queue = entries.map((it, index): QueuedWrite => {
    if (it.op === "clear") return { op: "clear" }
    if (it.op === "removeKey") return { op: "removeKey", key: it.key }
    return { op: "atPut", key: it.key, bytes: bytesOf(`q${index}`), what: it.encodes ? "" : "a promise" }
  })
  const lastClear = entries.findLastIndex((it) => it.op === "clear")
  const base: Model = lastClear === -1 ? new Map(model) : new Map()
  const last = new Map<string, number>()
  for (const [index, it] of entries.entries()) if (index > lastClear && it.op !== "clear") last.set(it.key, index)
  const rejected: string[] = []
  const removals = new Set<string>()
  for (const [key, index] of last) {
    if (base.get(key)?.held !== "source") continue
    if (entries[index]!.op === "atPut") rejected.push(key)
    else removals.add(key)
  }
  for (let before = -1; before !== removals.size;) {
    before = removals.size
    for (const key of removals) {
      const isNeeded = [...base].some(
        ([user, it]) => it.held === "source" && user !== key && !removals.has(user) && it.dependencies.includes(key),
      )
      if (!isNeeded) continue
      removals.delete(key)
      rejected.push(key)
    }
  }
  for (const [key, index] of last) {
    if (rejected.includes(key)) continue
    const it = entries[index]!
    if (it.op === "removeKey") base.delete(key)
    else if (it.op === "atPut") {
      base.set(
        key,
        it.encodes ? { held: "bytes", value: `q${index}`, readonly: false } : { held: "lost", readonly: false },
      )
    }
  }
  return { queue, after: base, rejected: rejected.toSorted() }
}

describe("commitDelta", () => {
  test("keeps a local's attribute when only its group is encoded again", () => {
    const state = new SessionState()
    commitDelta(state, {
      ...emptyDelta,
      set: [{ name: "a", readonly: true }],
      groups: [{ names: ["a"], bytes: bytesOf("1") }],
    })
    commitDelta(state, { ...emptyDelta, groups: [{ names: ["a"], bytes: bytesOf("2") }] })
    expect(checkpointOf(state, realm).locals).toEqual([{ name: "a", readonly: true }])
    commitDelta(state, {
      ...emptyDelta,
      set: [{ name: "a", readonly: false }],
      groups: [{ names: ["a"], bytes: bytesOf("3") }],
    })
    expect(checkpointOf(state, realm).locals).toEqual([{ name: "a", readonly: false }])
  })

  test("splits a group when its members no longer share anything", () => {
    const state = new SessionState()
    commitDelta(state, { ...emptyDelta, groups: [{ names: ["a", "b"], bytes: bytesOf("ab") }] })
    commitDelta(state, { ...emptyDelta, groups: [{ names: ["a"], bytes: bytesOf("a") }] })
    const groups = checkpointOf(state, realm).groups.map((it) => [it.names, textOf(it.bytes)])
    expect(groups.toSorted()).toEqual([
      [["a"], "a"],
      [["b"], "ab"],
    ])
  })

  test("turns a local into a definition and back without leaving both", () => {
    const state = new SessionState()
    commitDelta(state, { ...emptyDelta, groups: [{ names: ["a"], bytes: bytesOf("1") }] })
    commitDelta(state, { ...emptyDelta, definitions: [definition("a")] })
    expect([...decoded(checkpointOf(state, realm)).keys()]).toEqual(["a"])
    expect(state.locals.size).toBe(0)
    commitDelta(state, {
      ...emptyDelta,
      set: [{ name: "a", readonly: false }],
      groups: [{ names: ["a"], bytes: bytesOf("2") }],
    })
    expect(state.definitions.size).toBe(0)
  })

  test("keeps the last value and error until there is another", () => {
    const state = new SessionState()
    commitDelta(state, { ...emptyDelta, lastValue: bytesOf("1") })
    commitDelta(state, { ...emptyDelta, lastError: bytesOf("e") })
    expect([textOf(state.lastValue as Uint8Array), textOf(state.lastError!)]).toEqual(["1", "e"])
    state.lastValue = { plain: 7 }
    expect(checkpointOf(state, realm).lastValue).toEqual(packPlainValue(7))
    resetState(state)
    expect([state.lastValue, state.lastError]).toEqual([undefined, undefined])
  })
})

test("a copy shares nothing that changes", () => {
  const state = new SessionState()
  commitDelta(state, { ...emptyDelta, groups: [{ names: ["a"], bytes: bytesOf("1") }], definitions: [definition("f")] })
  const copy = copyState(state)
  resetState(state)
  expect([...decoded(checkpointOf(copy, realm)).keys()].toSorted()).toEqual(["a", "f"])
  commitDelta(copy, { ...emptyDelta, groups: [{ names: ["b"], bytes: bytesOf("1") }] })
  expect(state.locals.size).toBe(0)
})

test("what was lost says why when it is read", () => {
  const state = new SessionState()
  commitDelta(state, { ...emptyDelta, ephemeral: [{ name: "p", what: "a pending promise" }] })
  expect(checkpointOf(state, realm).lost).toEqual([{ name: "p", reason: "a pending promise" }])
  loseRealm(state, "its host ended (host-killed)")
  expect(checkpointOf(state, realm).lost).toEqual([
    { name: "p", reason: "a pending promise: its host ended (host-killed)" },
  ])
  expect(loseRealm(state, "again")).toEqual([])
})

test("what besides bindings only the realm held is named once, when it goes", () => {
  const state = new SessionState()
  commitDelta(state, { ...emptyDelta, realmOnly: ["globalThis.cache"] })
  expect(ephemeralNames(state)).toEqual(["globalThis.cache"])
  expect(loseRealm(state, "its host ended")).toEqual(["globalThis.cache"])
  expect(loseRealm(state, "its host ended")).toEqual([])
})

describe("changes since they were last asked for", () => {
  const plain = (key: string, value: number): Delta => ({
    ...emptyDelta,
    set: [{ name: key, readonly: false }],
    plain: [{ name: key, value }],
  })

  test("are told once, by what each name is now", () => {
    const state = new SessionState()
    expect(takeChanges(state)).toBeUndefined()
    commitDelta(state, plain("a", 1))
    commitDelta(state, { ...emptyDelta, definitions: [definition("f")], ephemeral: [{ name: "s", what: "a promise" }] })
    expect(takeChanges(state)).toEqual({ set: ["a", "s"], definitions: ["f"], removed: [], lost: [] })
    expect(takeChanges(state)).toBeUndefined()
    commitDelta(state, { ...emptyDelta, removed: ["a", "never"], ephemeral: [{ name: "s", what: "a promise" }] })
    expect(takeChanges(state)).toEqual({ set: [], definitions: [], removed: ["a"], lost: [] })
    loseRealm(state, "it ended")
    expect(takeChanges(state)).toEqual({ set: [], definitions: [], removed: [], lost: ["s"] })
  })

  test("of a mark that is gone back to are the difference", () => {
    const state = new SessionState()
    commitDelta(state, plain("same", 1))
    commitDelta(state, plain("other", 1))
    const marked = copyState(state)
    commitDelta(state, plain("other", 2))
    commitDelta(state, plain("fresh", 1))
    takeChanges(state)
    restoreState(state, marked)
    expect(takeChanges(state)).toEqual({ set: ["other"], definitions: [], removed: ["fresh"], lost: [] })
    resetState(state)
    expect(takeChanges(state)).toEqual({ set: [], definitions: [], removed: ["same", "other"], lost: [] })
  })
})
