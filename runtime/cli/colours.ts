// Colours for a terminal: values as Node's own prompt shows them, failures with their name and place marked.
//
// What is coloured is finished text, read by a few patterns; nothing is changed but for the colours, so a text that is cut or odd comes out as it
// is. Whether there are colours is decided once, by the conventions that other commands follow.

/** Makes texts ready for where they are shown. */
export interface Paint {
  value(text: string): string
  /** A rendered error. */
  failure(text: string): string
  /** What is said aside. */
  note(text: string): string
}

type Environment = Readonly<Record<string, string | undefined>>

/** `FORCE_COLOR` decides, then `NO_COLOR`, then whether it is a terminal that has colours. */
export function hasColours(isTerminal: boolean, environment: Environment): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: none, TERM: terminal } = environment
  if (forced !== undefined) return forced !== "0" && forced !== "false"
  if (none !== undefined && none !== "") return false
  return isTerminal && terminal !== "dumb"
}

export function paintFor(coloured: boolean): Paint {
  if (!coloured) return { value: (text) => text, failure: (text) => text, note: (text) => text }
  return { value: colouredValue, failure: colouredFailure, note: (text) => grey(text) }
}

const colour = (code: number, end: number) => (text: string) => `\x1b[${code}m${text}\x1b[${end}m`
const bold = colour(1, 22)
const red = colour(31, 39)
const green = colour(32, 39)
const yellow = colour(33, 39)
const magenta = colour(35, 39)
const cyan = colour(36, 39)
const grey = colour(90, 39)

/** Each has a bound, or stops where the next one could begin, so that no text takes more than time proportional to it. */
const kinds: readonly [name: string, pattern: string, paint: (text: string) => string][] = [
  // A text that was cut may end in one.
  ["string", String.raw`'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?|\x60(?:[^\x60\\]|\\.)*\x60?`, green],
  ["symbol", String.raw`Symbol\([^)\n]{0,200}\)`, green],
  ["date", String.raw`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`, magenta],
  [
    "inner",
    String.raw`\[(?:class|Circular|Object|Array|Getter|Setter|(?:Async)?(?:Generator)?Function)\b[^\]\n]{0,200}\]|<[a-z ]{1,40}>`,
    cyan,
  ],
  // A key is no word of its own.
  ["key", String.raw`[\p{ID_Start}$_][\p{ID_Continue}$]*(?=:)`, (text) => text],
  ["boolean", String.raw`\b(?:true|false)\b`, yellow],
  ["null", String.raw`\bnull\b`, bold],
  ["undefined", String.raw`\bundefined\b`, grey],
  ["word", String.raw`[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\(\d+\))?`, (text) => text],
  ["number", String.raw`-?(?:\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?n?|Infinity)`, yellow],
]
const anyKind = new RegExp(kinds.map(([name, pattern]) => `(?<${name}>${pattern})`).join("|"), "gu")

function colouredValue(text: string): string {
  // The stack of an error is a text of its own.
  if (/\n {4,}at /.test(text)) return text
  return text.replaceAll(anyKind, (...found) => {
    const groups = found.at(-1) as Record<string, string | undefined>
    const [, , paint] = kinds.find(([name]) => groups[name] !== undefined)!
    return paint(found[0])
  })
}

function colouredFailure(text: string): string {
  return text
    .split("\n")
    .map((line, index) => {
      if (index === 0) return line.replace(/^[\p{ID_Start}$_][\p{ID_Continue}$.]*(?=:)/u, (name) => red(bold(name)))
      if (/^\s+at /.test(line)) return grey(line)
      return /^\s*\|\s*\^+$/.test(line) ? line.replace(/\^+/, red) : line
    })
    .join("\n")
}
