// URL and URLSearchParams for session code.
//
// A URL is its `href`; everything else is asked of the worker, whose own parser answers exactly (`runtime/worker/url-parts.ts`), and kept until
// the next change. The parameters are a list of this realm, joined to their URL in both directions: a change of one writes the other.
// All of it stands in private names, so both are values: they commit and are made again as they were, still joined.
import {
  applyFunction,
  arrayPush,
  arraySortBy,
  defineOwn,
  deleteOwn,
  descriptorOf,
  iteratorPrototype,
  iteratorSymbol,
  newList,
  ownKeysOf,
  putOwn,
  setPrototype,
  stringCodeAt,
  stringFromCodes,
  stringIndexOf,
  stringSlice,
  stringToWellFormed,
  tagPrototype,
  textOfGiven,
  TypeErrorOf,
  typedArrayByteLength,
  withCode,
  withoutPrototype,
} from "./intrinsics.ts"
import { givenItems, iterateGiven } from "./iterate.ts"
import { constructionMode, registerRealmClass } from "./privates.ts"
import { quoteText } from "./quote.ts"
import { decodeUtf8, encodeUtf8 } from "./text-coding.ts"

/** Gives the parts of a URL; with `part`, of the URL `input` after `other` was assigned to that part. */
export type AskUrl = (input: string, other: string | undefined, part?: string) => string | undefined

/** As `url-parts.ts` lists them. */
const partHref = 0
const partOrigin = 1
const partProtocol = 2
const partUsername = 3
const partPassword = 4
const partHost = 5
const partHostname = 6
const partPort = 7
const partPathname = 8
const partSearch = 9
const partHash = 10

/** Longer ones are cut where they are shown. */
const shownCharsMax = 2_000
const shownPairsMax = 100

function splitText(text: string, separator: string): string[] {
  const parts: string[] = newList()
  let from = 0
  for (;;) {
    const to = stringIndexOf(text, separator, from)
    parts[parts.length] = to < 0 ? stringSlice(text, from) : stringSlice(text, from, to)
    if (to < 0) return parts
    from = to + separator.length
  }
}

function invalidUrl(input: string): Error {
  const error = withCode(new TypeErrorOf("Invalid URL"), "ERR_INVALID_URL")
  putOwn(error, "input", input)
  return error
}

function needArguments(given: number, wanted: number): void {
  if (given >= wanted) return
  const message = wanted === 1 ? "One argument is needed." : `${wanted} arguments are needed.`
  throw withCode(new TypeErrorOf(message), "ERR_MISSING_ARGS")
}

/** As text without lone surrogates. Symbols throw, as in the language. */
function scalarText(value: unknown): string {
  return stringToWellFormed(textOfGiven(value))
}

function cutText(text: string): string {
  return text.length > shownCharsMax ? `${stringSlice(text, 0, shownCharsMax)}…` : text
}

function shownPairs(pairs: string[]): string {
  if (pairs.length === 0) return "URLSearchParams {}"
  let text = ""
  for (let at = 0; at < pairs.length && at < shownPairsMax * 2; at += 2)
    text += `${at === 0 ? "" : ", "}${quoteText(cutText(pairs[at]!))} => ${quoteText(cutText(pairs[at + 1]!))}`
  return `URLSearchParams { ${text}${pairs.length > shownPairsMax * 2 ? ", …" : ""} }`
}

// application/x-www-form-urlencoded

function parseQuery(query: string): string[] {
  const pairs: string[] = newList()
  if (query === "") return pairs
  const parts = splitText(query, "&")
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    if (part === "") continue
    const at = stringIndexOf(part, "=")
    pairs[pairs.length] = decodeForm(at < 0 ? part : stringSlice(part, 0, at))
    pairs[pairs.length] = at < 0 ? "" : decodeForm(stringSlice(part, at + 1))
  }
  return pairs
}

function decodeForm(text: string): string {
  const bytes = encodeUtf8(text)
  const count = typedArrayByteLength(bytes)
  let to = 0
  for (let at = 0; at < count; at++) {
    const byte = bytes[at]!
    const high = byte === 37 && at + 2 < count ? valueOfHexDigit(bytes[at + 1]!) : -1
    const low = high < 0 ? -1 : valueOfHexDigit(bytes[at + 2]!)
    if (low >= 0) {
      bytes[to++] = high * 16 + low
      at += 2
    } else bytes[to++] = byte === 43 ? 32 : byte
  }
  return decodeUtf8(bytes, to)
}

function valueOfHexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

function queryText(pairs: string[]): string {
  let text = ""
  for (let at = 0; at < pairs.length; at += 2)
    text += `${at === 0 ? "" : "&"}${encodeForm(pairs[at]!)}=${encodeForm(pairs[at + 1]!)}`
  return text
}

const upperHexDigits = "0123456789ABCDEF"

function encodeForm(text: string): string {
  const bytes = encodeUtf8(text)
  const count = typedArrayByteLength(bytes)
  let encoded = ""
  for (let at = 0; at < count; at++) {
    const byte = bytes[at]!
    const letter = byte | 32
    const isPlain =
      (byte >= 48 && byte <= 57) ||
      (byte < 128 && letter >= 97 && letter <= 122) ||
      byte === 42 ||
      byte === 45 ||
      byte === 46 ||
      byte === 95
    if (isPlain) encoded += stringFromCodes(byte)
    else if (byte === 32) encoded += "+"
    else encoded += `%${upperHexDigits[byte >> 4]!}${upperHexDigits[byte & 15]!}`
  }
  return encoded
}

/** Makes the two classes in this realm, which happens when the first of them is used: most sessions never do. */
export function makeUrlClasses(askUrl: AskUrl): object {
  // What the two classes and the iterator do to each other's private names; set where those are in sight.
  let queryChanged: (url: URL, query: string) => void
  let joinedParams: (url: URL, query: string) => URLSearchParams
  let takeQuery: (params: URLSearchParams, query: string) => void
  let pairsOf: (params: URLSearchParams) => string[]
  let isParams: (object: object) => boolean

  class URLSearchParams {
    /** Names and values in turn. */
    #pairs: string[] = newList()
    #url: URL | undefined

    constructor(init?: unknown) {
      if (constructionMode.on || init === undefined) return
      if ((typeof init !== "object" || init === null) && typeof init !== "function") {
        const text = textOfGiven(init)
        this.#pairs = parseQuery(stringCodeAt(text, 0) === 63 ? stringSlice(text, 1) : text)
        return
      }
      const method = (init as Record<symbol, unknown>)[iteratorSymbol]
      if (method !== undefined && method !== null) this.#takeItems(init, method)
      else this.#takeRecord(init)
    }

    #takeItems(init: object, method: unknown): void {
      const pairs = this.#pairs
      iterateGiven(init, method, (item) => {
        const pair = typeof item === "object" && item !== null ? givenItems(item) : newList()
        if (pair.length !== 2)
          throw withCode(
            new TypeErrorOf("Each query pair must be an iterable [name, value] tuple"),
            "ERR_INVALID_TUPLE",
          )
        pairs[pairs.length] = scalarText(pair[0])
        pairs[pairs.length] = scalarText(pair[1])
      })
    }

    #takeRecord(init: object): void {
      const pairs = this.#pairs
      const keys = ownKeysOf(init)
      for (let index = 0; index < keys.length; index++) {
        const key = keys[index]!
        if (descriptorOf(init, key)?.enumerable !== true) continue
        const name = scalarText(key)
        const value = scalarText((init as Record<PropertyKey, unknown>)[key])
        let at = 0
        while (at < pairs.length && pairs[at] !== name) at += 2
        pairs[at] = name
        pairs[at + 1] = value
      }
    }

    get size(): number {
      return this.#pairs.length / 2
    }

    append(name: unknown, value: unknown): void {
      needArguments(arguments.length, 2)
      const pairs = this.#pairs
      const key = scalarText(name)
      const text = scalarText(value)
      pairs[pairs.length] = key
      pairs[pairs.length] = text
      this.#changed()
    }

    delete(name: unknown, value?: unknown): void {
      needArguments(arguments.length, 1)
      const key = scalarText(name)
      const text = value === undefined ? undefined : scalarText(value)
      this.#keep((at) => this.#pairs[at] !== key || (text !== undefined && this.#pairs[at + 1] !== text))
      this.#changed()
    }

    get(name: unknown): string | null {
      needArguments(arguments.length, 1)
      const at = this.#find(scalarText(name), undefined)
      return at < 0 ? null : this.#pairs[at + 1]!
    }

    getAll(name: unknown): string[] {
      needArguments(arguments.length, 1)
      const key = scalarText(name)
      const found: string[] = []
      for (let at = 0; at < this.#pairs.length; at += 2)
        if (this.#pairs[at] === key) arrayPush(found, this.#pairs[at + 1]!)
      return found
    }

    has(name: unknown, value?: unknown): boolean {
      needArguments(arguments.length, 1)
      const key = scalarText(name)
      return this.#find(key, value === undefined ? undefined : scalarText(value)) >= 0
    }

    set(name: unknown, value: unknown): void {
      needArguments(arguments.length, 2)
      const key = scalarText(name)
      const text = scalarText(value)
      const first = this.#find(key, undefined)
      if (first < 0) {
        const { length } = this.#pairs
        this.#pairs[length] = key
        this.#pairs[length + 1] = text
      } else {
        this.#pairs[first + 1] = text
        this.#keep((at) => at === first || this.#pairs[at] !== key)
      }
      this.#changed()
    }

    sort(): void {
      const pairs = this.#pairs
      const items: { name: string; value: string }[] = newList()
      for (let at = 0; at < pairs.length; at += 2) items[at / 2] = { name: pairs[at]!, value: pairs[at + 1]! }
      arraySortBy(items, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      for (let index = 0; index < items.length; index++) {
        pairs[index * 2] = items[index]!.name
        pairs[index * 2 + 1] = items[index]!.value
      }
      this.#changed()
    }

    forEach(callback: unknown, self?: unknown): void {
      if (typeof callback !== "function") throw new TypeErrorOf("URLSearchParams.forEach takes a function.")
      for (let at = 0; at < this.#pairs.length; at += 2)
        applyFunction(callback, self, withoutPrototype([this.#pairs[at + 1], this.#pairs[at], this]))
    }

    entries(): ParamsIterator {
      return new ParamsIterator(this, 0)
    }

    keys(): ParamsIterator {
      return new ParamsIterator(this, 1)
    }

    values(): ParamsIterator {
      return new ParamsIterator(this, 2)
    }

    toString(): string {
      return queryText(this.#pairs)
    }

    /** The place of the first pair of that name, and of that value where one is given; -1 when there is none. */
    #find(name: string, value: string | undefined): number {
      for (let at = 0; at < this.#pairs.length; at += 2)
        if (this.#pairs[at] === name && (value === undefined || this.#pairs[at + 1] === value)) return at
      return -1
    }

    #keep(isKept: (at: number) => boolean): void {
      const pairs = this.#pairs
      let to = 0
      for (let at = 0; at < pairs.length; at += 2) {
        if (!isKept(at)) continue
        pairs[to++] = pairs[at]!
        pairs[to++] = pairs[at + 1]!
      }
      pairs.length = to
    }

    #changed(): void {
      if (this.#url !== undefined) queryChanged(this.#url, queryText(this.#pairs))
    }

    static {
      isParams = (object) => #pairs in object
      pairsOf = (params) => params.#pairs
      takeQuery = (params, query) => {
        params.#pairs = parseQuery(query)
      }
      joinedParams = (url, query) => {
        const params = new URLSearchParams()
        params.#pairs = parseQuery(query)
        params.#url = url
        return params
      }
      registerRealmClass(
        "URLSearchParams",
        URLSearchParams,
        ["pairs", "url"],
        (object, index) => (index === 0 ? (object as URLSearchParams).#pairs : (object as URLSearchParams).#url),
        (object, index, value) => {
          if (index === 0) (object as URLSearchParams).#pairs = value as string[]
          else (object as URLSearchParams).#url = value as URL | undefined
        },
        isParams,
        (object) => shownPairs((object as URLSearchParams).#pairs),
      )
    }
  }

  /** As every iterator it goes with its realm. */
  class ParamsIterator {
    #params: URLSearchParams | undefined
    #kind = 0
    #at = 0

    constructor(params: URLSearchParams, kind: number) {
      this.#params = params
      this.#kind = kind
    }

    next(): { value: unknown; done: boolean } {
      const pairs = this.#params === undefined ? undefined : pairsOf(this.#params)
      const at = this.#at
      if (pairs === undefined || at >= pairs.length) {
        this.#params = undefined
        return { value: undefined, done: true }
      }
      this.#at = at + 2
      const kind = this.#kind
      const value = kind === 0 ? [pairs[at], pairs[at + 1]] : pairs[at + kind - 1]
      return { value, done: false }
    }
  }

  class URL {
    #href = ""
    /** Those of `href`, once one was asked for. */
    #parts: string[] | undefined
    #params: URLSearchParams | undefined

    constructor(input: unknown, base?: unknown) {
      if (constructionMode.on) return
      needArguments(arguments.length, 1)
      const text = textOfGiven(input)
      const found = askUrl(text, base === undefined ? undefined : textOfGiven(base))
      if (found === undefined) throw invalidUrl(text)
      this.#take(found)
    }

    static canParse(input: unknown, base?: unknown): boolean {
      needArguments(arguments.length, 1)
      return askUrl(textOfGiven(input), base === undefined ? undefined : textOfGiven(base)) !== undefined
    }

    #take(found: string): void {
      const parts = splitText(found, "\n")
      this.#parts = parts
      this.#href = parts[partHref]!
    }

    #part(index: number): string {
      if (this.#parts === undefined) this.#take(askUrl(this.#href, undefined) ?? this.#href)
      return this.#parts![index] ?? ""
    }

    #change(part: string, value: unknown): void {
      const text = textOfGiven(value)
      const found = askUrl(this.#href, text, part)
      if (found === undefined) throw invalidUrl(text)
      this.#take(found)
      if (this.#params !== undefined && (part === "href" || part === "search"))
        takeQuery(this.#params, stringSlice(this.#part(partSearch), 1))
    }

    get href(): string {
      return this.#href
    }
    set href(value: unknown) {
      this.#change("href", value)
    }
    get origin(): string {
      return this.#part(partOrigin)
    }
    get protocol(): string {
      return this.#part(partProtocol)
    }
    set protocol(value: unknown) {
      this.#change("protocol", value)
    }
    get username(): string {
      return this.#part(partUsername)
    }
    set username(value: unknown) {
      this.#change("username", value)
    }
    get password(): string {
      return this.#part(partPassword)
    }
    set password(value: unknown) {
      this.#change("password", value)
    }
    get host(): string {
      return this.#part(partHost)
    }
    set host(value: unknown) {
      this.#change("host", value)
    }
    get hostname(): string {
      return this.#part(partHostname)
    }
    set hostname(value: unknown) {
      this.#change("hostname", value)
    }
    get port(): string {
      return this.#part(partPort)
    }
    set port(value: unknown) {
      this.#change("port", value)
    }
    get pathname(): string {
      return this.#part(partPathname)
    }
    set pathname(value: unknown) {
      this.#change("pathname", value)
    }
    get search(): string {
      return this.#part(partSearch)
    }
    set search(value: unknown) {
      this.#change("search", value)
    }
    get hash(): string {
      return this.#part(partHash)
    }
    set hash(value: unknown) {
      this.#change("hash", value)
    }
    get searchParams(): URLSearchParams {
      return (this.#params ??= joinedParams(this, stringSlice(this.#part(partSearch), 1)))
    }

    toString(): string {
      return this.#href
    }

    toJSON(): string {
      return this.#href
    }

    static {
      queryChanged = (url, query) => {
        const found = askUrl(url.#href, query, "search")
        if (found !== undefined) url.#take(found)
      }
      registerRealmClass(
        "URL",
        URL,
        ["href", "params"],
        (object, index) => (index === 0 ? (object as URL).#href : (object as URL).#params),
        (object, index, value) => {
          if (index === 0) (object as URL).#href = value as string
          else (object as URL).#params = value as URLSearchParams | undefined
        },
        (object) => #href in object,
        (object) => `URL { href: ${quoteText(cutText((object as URL).#href))} }`,
      )
    }
  }

  tagPrototype(URL.prototype, "URL")
  tagPrototype(URLSearchParams.prototype, "URLSearchParams")
  tagPrototype(ParamsIterator.prototype, "URLSearchParams Iterator")
  setPrototype(ParamsIterator.prototype, iteratorPrototype)
  deleteOwn(ParamsIterator.prototype, "constructor")
  defineOwn(
    URLSearchParams.prototype,
    iteratorSymbol,
    withoutPrototype({
      value: descriptorOf(URLSearchParams.prototype, "entries")!.value as unknown,
      writable: true,
      configurable: true,
    }),
  )

  return withoutPrototype({
    URL,
    URLSearchParams,
    "URLSearchParams Iterator": ParamsIterator.prototype,
  })
}
