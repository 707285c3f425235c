// JSON-RPC 2.0 without a method of ours: the specification's own example exchanges, limits, order and cancellation.
// oxlint-disable typescript/no-unsafe-type-assertion -- answers are JSON, whose shape is what the tests check
import { describe, expect, it } from "vitest"
import { NacreError } from "../../../runtime/errors.ts"
import { Peer, requestsInFlightMax } from "../../../runtime/serve/rpc.ts"
import type { Dispatch, Request } from "../../../runtime/serve/rpc.ts"

class Client {
  readonly sent: unknown[] = []
  readonly notified: Request[] = []
  readonly internal: unknown[] = []
  readonly peer: Peer
  isCongested = false

  constructor(dispatch: Dispatch = specification) {
    const { sent } = this
    const isCongested = (): boolean => this.isCongested
    this.peer = new Peer(
      {
        send: (text) => void sent.push(JSON.parse(text)),
        get isCongested() {
          return isCongested()
        },
      },
      {
        dispatch: (request) => {
          if (request.id === undefined) this.notified.push(request)
          return dispatch(request)
        },
        onInternal: (error) => void this.internal.push(error),
      },
    )
  }

  /** Sends text as it stands and resolves with what was answered to it. */
  async ask(text: string): Promise<unknown[]> {
    const before = this.sent.length
    this.peer.receive(text)
    await this.peer.settled()
    await new Promise((resolve) => setImmediate(resolve))
    return this.sent.slice(before)
  }
}

/** The methods of the specification's examples. */
const specification: Dispatch = async ({ method, params }) => {
  if (method === "subtract") {
    const [minuend, subtrahend] = Array.isArray(params)
      ? params.map(Number)
      : Object.entries(params as object)
          .toSorted(([a], [b]) => a.localeCompare(b))
          .map(([, value]) => Number(value))
    return minuend! - subtrahend!
  }
  if (method === "sum") return (params as number[]).reduce((sum, each) => sum + each, 0)
  if (method === "get_data") return ["hello", 5]
  if (/^(update|notify_hello|notify_sum)$/.test(method)) return null
  throw new NacreError("method_not_found", `There is no method ${method}.`)
}

const error = (code: number, id: unknown) => ({
  jsonrpc: "2.0",
  id,
  error: expect.objectContaining({ code }) as unknown,
})
const result = (value: unknown, id: unknown) => ({ jsonrpc: "2.0", id, result: value })

describe("the examples of the specification", () => {
  it.each<[string, string, unknown[]]>([
    ["positional parameters", '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}', [result(19, 1)]],
    [
      "positional parameters, turned",
      '{"jsonrpc":"2.0","method":"subtract","params":[23,42],"id":2}',
      [result(-19, 2)],
    ],
    [
      "named parameters",
      '{"jsonrpc":"2.0","method":"subtract","params":{"subtrahend":23,"minuend":42},"id":3}',
      [result(19, 3)],
    ],
    ["a notification", '{"jsonrpc":"2.0","method":"update","params":[1,2,3,4,5]}', []],
    ["a notification of an unknown method", '{"jsonrpc":"2.0","method":"foobar"}', []],
    ["an unknown method", '{"jsonrpc":"2.0","method":"foobar","id":"1"}', [error(-32601, "1")]],
    ["invalid JSON", '{"jsonrpc":"2.0","method":"foobar,"params":"bar","baz]', [error(-32700, null)]],
    ["an invalid request", '{"jsonrpc":"2.0","method":1,"params":"bar"}', [error(-32600, null)]],
    [
      "a batch of invalid JSON",
      '[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method"',
      [error(-32700, null)],
    ],
    ["an empty batch", "[]", [error(-32600, null)]],
    ["an invalid batch", "[1]", [[error(-32600, null)]]],
    ["a batch of three invalid requests", "[1,2,3]", [[error(-32600, null), error(-32600, null), error(-32600, null)]]],
    [
      "a batch of everything",
      `[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method":"notify_hello","params":[7]},
        {"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":"2"},{"foo":"boo"},
        {"jsonrpc":"2.0","method":"foo.get","params":{"name":"myself"},"id":"5"},{"jsonrpc":"2.0","method":"get_data","id":"9"}]`,
      [[result(7, "1"), result(19, "2"), error(-32600, null), error(-32601, "5"), result(["hello", 5], "9")]],
    ],
    [
      "a batch of notifications",
      '[{"jsonrpc":"2.0","method":"notify_sum","params":[1,2,4]},{"jsonrpc":"2.0","method":"notify_hello","params":[7]}]',
      [],
    ],
  ])("%s", async (_what, text, answers) => {
    expect(await new Client().ask(text)).toEqual(answers)
  })
})

describe("an id that is no exact number", () => {
  it.each(["1e400", "-1e400", "9007199254740992", "9007199254740993", "-9007199254740993", "1e300"])(
    "%s is refused, since its answer could not name it",
    async (id) => {
      const client = new Client()
      const text = `{"jsonrpc":"2.0","method":"get_data","id":${id}}`
      expect(await client.ask(text)).toMatchObject([{ id: null, error: { code: -32600 } }])
      expect(await client.ask(`[${text}]`)).toMatchObject([[{ id: null, error: { code: -32600 } }]])
    },
  )

  it.each(["9007199254740991", "-9007199254740991", "0", "1.5"])("%s is one", async (id) => {
    const answers = await new Client().ask(`{"jsonrpc":"2.0","method":"get_data","id":${id}}`)
    expect(answers).toEqual([result(["hello", 5], Number(id))])
  })
})

const request = (id: number, method = "wait"): string => JSON.stringify({ jsonrpc: "2.0", id, method })

function gated(): {
  client: Client
  finish: Map<unknown, (value: unknown) => void>
  signals: Map<unknown, AbortSignal>
} {
  const finish = new Map<unknown, (value: unknown) => void>()
  const signals = new Map<unknown, AbortSignal>()
  const client = new Client(
    ({ id, signal }) =>
      new Promise((resolve) => {
        finish.set(id, resolve)
        signals.set(id, signal)
      }),
  )
  return { client, finish, signals }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe("requests under way", () => {
  it("are answered as they finish", async () => {
    const { client, finish } = gated()
    client.peer.receive(request(1))
    client.peer.receive(request(2))
    await turn()
    finish.get(2)!("b")
    await turn()
    finish.get(1)!("a")
    await client.peer.settled()
    await turn()
    expect(client.sent).toEqual([result("b", 2), result("a", 1)])
  })

  it("keep their id to themselves until they are answered", async () => {
    const { client, finish } = gated()
    client.peer.receive(request(1))
    client.peer.receive(request(1))
    await turn()
    expect(client.sent).toEqual([error(-32600, 1)])
    finish.get(1)!(0)
    await turn()
    client.peer.receive(request(1))
    await turn()
    finish.get(1)!(1)
    await turn()
    expect(client.sent.slice(1)).toEqual([result(0, 1), result(1, 1)])
  })

  it("are limited in number", async () => {
    const { client } = gated()
    for (let id = 0; id <= requestsInFlightMax; id++) client.peer.receive(request(id))
    await turn()
    expect(client.sent).toEqual([
      expect.objectContaining({
        id: requestsInFlightMax,
        error: expect.objectContaining({ data: { kind: "too_many_requests", retry: "same" } }) as unknown,
      }),
    ])
    client.peer.receive(JSON.stringify(Array.from({ length: requestsInFlightMax + 1 }, (_, id) => ({ id }))))
    expect(client.sent.at(-1)).toEqual(error(-32600, null))
  })

  it("are cancelled by $/cancelRequest, and answered all the same", async () => {
    const { client, finish, signals } = gated()
    client.peer.receive(request(1))
    client.peer.receive('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}')
    client.peer.receive('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":77}}')
    client.peer.receive('{"jsonrpc":"2.0","method":"$/cancelRequest"}')
    await turn()
    expect(signals.get(1)!.aborted).toBe(true)
    finish.get(1)!("stopped")
    await turn()
    expect(client.sent).toEqual([result("stopped", 1)])
  })

  it("are aborted and no longer answered when the connection is closed", async () => {
    const { client, finish, signals } = gated()
    client.peer.receive(request(1))
    await turn()
    client.peer.close()
    expect(signals.get(1)!.aborted).toBe(true)
    finish.get(1)!("late")
    client.peer.receive(request(2))
    await turn()
    expect(client.sent).toEqual([])
  })

  it("begin in order, and a notification does not overtake them", async () => {
    const begun: string[] = []
    const client = new Client(async ({ method }) => void begun.push(method))
    for (const method of ["a", "b"]) client.peer.receive(request(1 + begun.length + method.charCodeAt(0), method))
    client.peer.receive('{"jsonrpc":"2.0","method":"c"}')
    client.peer.receive(request(9, "d"))
    await client.peer.settled()
    expect(begun).toEqual(["a", "b", "c", "d"])
  })
})

describe("what cannot be a request", () => {
  it.each([
    ["null", "null", null],
    ["a number", "1", null],
    ["another version", '{"jsonrpc":"1.0","id":4,"method":"a"}', 4],
    ["no version", '{"id":4,"method":"a"}', 4],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"a"}', null],
    ["an id that is null", '{"jsonrpc":"2.0","id":null,"method":"a"}', null],
    ["parameters that are a string", '{"jsonrpc":"2.0","id":4,"method":"a","params":"b"}', 4],
    ["parameters that are null", '{"jsonrpc":"2.0","id":4,"method":"a","params":null}', 4],
  ])("%s", async (_what, text, id) => {
    expect(await new Client().ask(text)).toEqual([error(-32600, id)])
  })
})

it("answers its own defects as internal and tells them", async () => {
  const client = new Client(() => Promise.reject(new TypeError("broken")))
  const [answer] = await client.ask(request(1))
  expect(answer).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32603, message: "Nacre failed: broken", data: { kind: "internal", retry: "same" } },
  })
  expect(client.internal).toHaveLength(1)
})

it("answers a result that JSON cannot hold as internal", async () => {
  const client = new Client(async () => 1n)
  expect(await client.ask(request(1))).toEqual([error(-32603, 1)])
})

it("leaves out what may be dropped while its reader is slow", () => {
  const client = new Client()
  client.isCongested = true
  client.peer.notify("output", { text: "a" }, { mayDrop: true })
  client.peer.notify("event", { type: "b" })
  expect(client.sent).toEqual([{ jsonrpc: "2.0", method: "event", params: { type: "b" } }])
})
