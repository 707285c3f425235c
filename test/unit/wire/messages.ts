// One sample of every message of the vocabulary, with every optional field present: what tests of the wire send.
import { fromHost, fromWorker, toHost, toWorker } from "../../../runtime/wire/schema.ts"
import type { Checkpoint, Delta, FieldsOf, Vocabulary, Preludes } from "../../../runtime/wire/schema.ts"

type Samples<V extends Vocabulary> = { [K in keyof V]: Required<FieldsOf<V[K]>> }

const definition = {
  name: "f",
  kind: "function",
  source: "function f() {}",
  file: "a.ts",
  line: 1,
  column: 2,
  dependencies: ["g"],
  digest: "d",
  isData: true,
  wrappers: [{ key: "w", source: "(f) => f", file: "f#w", line: 1, column: 1, digest: "e", reads: ["g"] }],
  bare: { dependencies: ["g"], isData: false },
}
const span = { start: 0, end: 1, line: 1, column: 1 }
const error = {
  name: "Error",
  message: "m",
  kind: "k",
  stack: [{ name: "f", file: "a.ts", line: 1, column: 1 }],
  spans: [span],
  rendered: "Error: m",
  cause: { name: "Error", message: "c", stack: [], spans: [], rendered: "" },
  errors: [{ name: "Error", message: "e", stack: [], spans: [], rendered: "" }],
  properties: [{ key: "a", text: "1" }],
}
// A Buffer, as bytes come out of the packer.
const bytes: Uint8Array = Buffer.from([1, 2, 3])

const samplePreludes: Preludes = {
  id: 2,
  list: [
    {
      name: "p",
      source: "export class P {}",
      digest: "d",
      file: "prelude:p",
      importer: "/d/p.ts",
      exported: ["P"],
      locals: ["P"],
      hasImports: false,
    },
  ],
}

export const sampleCheckpoint: Checkpoint = {
  definitions: [definition],
  locals: [{ name: "x", readonly: false }],
  plain: [{ name: "z", value: 1 }],
  groups: [{ names: ["x"], bytes, sources: ["s1"] }],
  sources: [{ id: "s1", source: "x = () => y", cells: "x,y", roots: "", file: "a.ts", line: 1, column: 1 }],
  lost: [{ name: "y", reason: "gone" }],
  lastValue: bytes,
  lastError: bytes,
  tools: ["t"],
  kind: "repl",
  profile: "standard",
  capabilities: ["print"],
  directory: "/d",
  preludes: samplePreludes,
}

const sampleValues = {
  plain: [{ name: "z", value: 1 }],
  groups: [{ names: ["x"], bytes }],
  sources: [{ id: "s1", source: "x = () => y", cells: "x,y", roots: "", file: "a.ts", line: 1, column: 1 }],
  ephemeral: [{ name: "z", what: "a promise" }],
}

export const sampleDelta: Delta = {
  set: [{ name: "x", readonly: true }],
  plain: [{ name: "z", value: 1 }],
  removed: ["y"],
  cleared: false,
  groups: [{ names: ["x"], bytes }],
  sources: [{ id: "s1", source: "x = () => y", cells: "x,y", roots: "", file: "a.ts", line: 1, column: 1 }],
  droppedSources: ["s0"],
  ephemeral: [{ name: "z", what: "a promise" }],
  definitions: [definition],
  removedDefinitions: ["h"],
  lastValue: bytes,
  lastError: bytes,
  late: ["l"],
  realmOnly: ["globalThis.g"],
  stale: ["s"],
  retained: { as: "@val_b", isFunction: true },
  lostImports: ["i"],
  reloaded: ["r"],
  pending: ["p"],
}

export const toWorkerSamples: Samples<typeof toWorker> = {
  eval: {
    seq: 1,
    session: "ses_a",
    evalId: "evl_a",
    commit: 0,
    source: "1 + 1\u{1F600}",
    file: "a.ts",
    line: 1,
    atomic: false,
    limits: [1, 2, 3],
    checkpoint: sampleCheckpoint,
    generation: 3,
    isSuspect: true,
    isAwaited: true,
    change: { stage: "make", id: "chg_a", definitions: [definition], removed: ["y"] },
    updates: [{ candidate: "chg_a", definitions: [definition], removed: ["y"], ...sampleValues }],
    base: 0,
    args: bytes,
    retained: "@val_a",
    pinned: {
      id: "1 from 2",
      definitions: [definition],
      removed: ["y"],
      plain: [{ name: "k", value: 5 }],
      data: [{ name: "d", from: "@1:d", reason: "" }],
    },
    retain: { as: "@val_b", functionsOnly: true },
    preludes: samplePreludes,
    defersAbove: 1024,
  },
  settle: { evalId: "evl_a", how: "timeout" },
  toolResult: { session: "ses_a", callId: 1, ok: true, bytes, message: "", kind: "" },
  evict: { session: "ses_a" },
  collect: {},
  nested: { evalId: "evl_a", parent: "evl_b", nested: "evl_c", source: "1", file: "a.ts", line: 1, limits: [1, 2, 3] },
}

export const fromWorkerSamples: Samples<typeof fromWorker> = {
  hello: { version: 1, host: "hst_a", worker: 0, token: "t" },
  parked: { evalId: "evl_a" },
  output: { evalId: "evl_a", stream: "stderr", text: "text", seq: 0, omittedBytes: 0, nested: "evl_c" },
  toolCall: { session: "ses_a", evalId: "evl_a", callId: 1, name: "t", bytes, nested: "evl_c" },
  outcome: {
    seq: 1,
    evalId: "evl_a",
    status: "threw",
    text: "",
    inert: true,
    valueType: "undefined",
    data: bytes,
    plain: "text",
    isPlain: true,
    withheld: "too-large",
    error,
    exitCode: 3,
    delta: sampleDelta,
    rejected: [{ op: "atPut", key: "x", kind: "binding_is_definition" }],
    queued: 0,
    cancelled: [1],
    omittedBytes: 0,
    abandoned: [{ kind: "timeout" }],
    realmKept: true,
    times: [0.5, 1],
    change: {
      declarations: [
        {
          key: "f",
          kind: "function",
          source: "function f() {}",
          start: 0,
          end: 15,
          line: 1,
          column: 1,
          reads: ["g"],
          isCode: true,
          leaves: [],
          digest: "d",
        },
      ],
      ...sampleValues,
      made: ["f"],
      statements: "1",
      problem: error,
    },
  },
  nestedEnded: {
    evalId: "evl_a",
    nested: "evl_c",
    status: "threw",
    text: "",
    inert: true,
    valueType: "undefined",
    isPlain: true,
    plain: "text",
    omittedBytes: 0,
    set: ["a"],
    removed: ["b"],
    definitions: ["c"],
    data: bytes,
    withheld: "too-large",
    error,
    exitCode: 3,
    abandoned: [{ kind: "timeout" }],
  },
  skipped: { seq: 1, evalId: "evl_a" },
  missing: { seq: 1, evalId: "evl_a" },
  stray: { session: "ses_a", evalId: "evl_a", text: "late" },
}

export const toHostSamples: Samples<typeof toHost> = {
  grow: { worker: 0, token: "t" },
  interrupt: { request: 1, worker: 0, seq: 1, graceMs: 15 },
  fence: { request: 1, worker: 0, from: 1, to: 2 },
  syncReply: { worker: 0, callId: 1, ok: false, kind: "k", message: "m", bytes },
  shutdown: {},
  ping: { nonce: 1 },
  generation: { request: 1, generation: 2 },
}

export const fromHostSamples: Samples<typeof fromHost> = {
  ready: { version: 1, pid: 1 },
  beat: { nonce: 1, rssBytes: 1, externalBytes: 1 },
  interrupted: { request: 1, found: "behind", entered: 0 },
  fenced: { request: 1, begun: 0 },
  syncCall: {
    worker: 0,
    callId: 1,
    session: "ses_a",
    evalId: "evl_a",
    op: "atPut",
    key: "x",
    what: "",
    bytes,
    target: "ses_b",
    version: 0,
  },
  workerGone: { worker: 0, entered: 1, begun: 2, because: "out-of-memory" },
  relayed: { worker: 0, frames: bytes },
  dying: { because: "native-code", worker: 0, entered: 1 },
  generationSeen: { request: 1 },
}

export const directions = {
  toWorker: { vocabulary: toWorker, samples: toWorkerSamples },
  fromWorker: { vocabulary: fromWorker, samples: fromWorkerSamples },
  toHost: { vocabulary: toHost, samples: toHostSamples },
  fromHost: { vocabulary: fromHost, samples: fromHostSamples },
} as const satisfies Record<string, { vocabulary: Vocabulary; samples: object }>
