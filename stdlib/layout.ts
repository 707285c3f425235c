// How the parts of an object's preview are put on lines: on one while they fit, else one part a line, and short items of long arrays
// side by side.

import { newList, stringIndexOf, stringRepeat } from "./intrinsics.ts"
import type { Brand } from "./brands.ts"

/** Node's inspect breaks at 72 to 80 columns; the text is read in the same terminals. */
const lineCharsMax = 76
/** Arrays with more short items than this are filled into lines rather than listed. */
const listedItemsMax = 6
const shortItemChars = 16

/** The parts between brackets; `depth` is how deep the object itself stands. */
export function layOut(
  parts: string[],
  count: number,
  open: string,
  close: string,
  depth: number,
  brand: Brand,
): string {
  let total = open.length + close.length + depth * 2
  let isOneLine = true
  let isShort = count > listedItemsMax && (brand === "array" || brand === "view" || brand === "set")
  for (let i = 0; i < count; i++) {
    const part = parts[i]!
    total += part.length + 2
    if (stringIndexOf(part, "\n") >= 0) isOneLine = false
    if (part.length > shortItemChars && i < count - 1) isShort = false
  }
  if (isOneLine && total <= lineCharsMax) return `${open} ${joinParts(parts, count, ", ")} ${close}`
  const indent = `\n${stringRepeat("  ", depth + 1)}`
  const end = `\n${stringRepeat("  ", depth)}${close}`
  if (!isShort || !isOneLine) return `${open}${indent}${joinParts(parts, count, `,${indent}`)}${end}`
  return `${open}${indent}${joinParts(filledLines(parts, count), -1, `,${indent}`)}${end}`
}

function filledLines(parts: string[], count: number): string[] {
  const lines: string[] = newList()
  let lineCount = 0
  let line = ""
  for (let i = 0; i < count; i++) {
    const part = parts[i]!
    if (line === "") line = part
    else if (line.length + part.length + 2 <= lineCharsMax) line += `, ${part}`
    else {
      lines[lineCount++] = line
      line = part
    }
  }
  if (line !== "") lines[lineCount++] = line
  return lines
}

function joinParts(parts: string[], count: number, separator: string): string {
  const end = count < 0 ? parts.length : count
  let text = ""
  for (let i = 0; i < end; i++) text += i === 0 ? parts[i]! : separator + parts[i]!
  return text
}
