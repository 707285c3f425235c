// Spans of an evaluated text as ranges of its document, and what is evaluated when nothing is selected.
import { describe, expect, test } from "vitest"
import { firstLine, positionAt, rangesOf, selectedText } from "../../../editors/vscode/source/positions.ts"
import type { Lines, Range } from "../../../editors/vscode/source/positions.ts"

const range = (line: number, character: number, endLine: number, endCharacter: number): Range => ({
  start: { line, character },
  end: { line: endLine, character: endCharacter },
})

/** A document as an editor has it, whatever ends its lines. */
function documentOf(text: string): Lines {
  const lines = text.split(/\r\n|\n|\r/)
  const offset = ({ line, character }: { line: number; character: number }): number => {
    let at = 0
    for (let index = 0; index < line; index++) at = /\r\n|\n|\r/.exec(text.slice(at))!.index + at + endLength(text, at)
    return at + character
  }
  return {
    lineCount: lines.length,
    lineAt: (line) => lines[line]!,
    textOf: ({ start, end }) => text.slice(offset(start), offset(end)),
  }
}

function endLength(text: string, from: number): number {
  return /\r\n|\n|\r/.exec(text.slice(from))![0].length
}

describe("ranges", () => {
  test.each<[string, string, { line: number; character: number }, [number, number], Range]>([
    ["at the beginning of a document", "a + b", { line: 0, character: 0 }, [4, 5], range(0, 4, 0, 5)],
    ["of a selection within a line", "a + b", { line: 3, character: 7 }, [4, 5], range(3, 11, 3, 12)],
    [
      "on a later line, which begins at its own margin",
      "a +\n  b",
      { line: 3, character: 7 },
      [6, 7],
      range(4, 2, 4, 3),
    ],
    ["behind CRLF", "a +\r\n  b", { line: 3, character: 7 }, [7, 8], range(4, 2, 4, 3)],
    ["behind CR alone", "a +\r  b", { line: 0, character: 0 }, [6, 7], range(1, 2, 1, 3)],
    ["behind a mixture", "1\r\n2\n3\r4", { line: 9, character: 1 }, [7, 8], range(12, 0, 12, 1)],
    [
      "behind a line separator, which ends no line of an editor's",
      "a\u2028b",
      { line: 0, character: 0 },
      [2, 3],
      range(0, 2, 0, 3),
    ],
    ["in UTF-16 units", "'😀' + ä", { line: 0, character: 2 }, [7, 8], range(0, 9, 0, 10)],
    ["over several lines", "f(\n1\n)", { line: 1, character: 1 }, [0, 6], range(1, 1, 3, 1)],
    ["of no length, one unit", "a b", { line: 0, character: 0 }, [2, 2], range(0, 2, 0, 3)],
    ["of no length, a pair of surrogates", "😀", { line: 0, character: 0 }, [0, 0], range(0, 0, 0, 2)],
    ["of no length at the end, the unit before", "let x =", { line: 0, character: 0 }, [7, 7], range(0, 6, 0, 7)],
    ["of no length at the end, the pair before", "x😀", { line: 0, character: 0 }, [3, 3], range(0, 1, 0, 3)],
    ["of no length at the end of a line", "let x =\r\n2", { line: 0, character: 0 }, [7, 7], range(0, 6, 0, 7)],
    ["of an empty text", "", { line: 5, character: 5 }, [0, 0], range(5, 5, 5, 5)],
    ["beyond the text, at its end", "ab", { line: 0, character: 0 }, [1, 99], range(0, 1, 0, 2)],
  ])("%s", (_name, text, start, [from, to], expected) => {
    expect(rangesOf({ text, start }, [{ start: from, end: to }])).toEqual([expected])
  })

  test("every offset of a text is where the editor counts it", () => {
    const text = "ab\r\n😀c\n\rd\r\n"
    const start = { line: 2, character: 3 }
    const places = Array.from({ length: text.length + 1 }, (_, offset) => positionAt({ text, start }, offset))
    const lines = text.split(/\r\n|\n|\r/)
    for (const [offset, { line, character }] of places.entries()) {
      const inLine = character - (line === start.line ? start.character : 0)
      // Between CR and LF is no place of an editor's.
      if (text[offset] === "\n" && text[offset - 1] === "\r") continue
      expect(inLine, `at ${offset}`).toBeLessThanOrEqual(lines[line - start.line]!.length)
    }
    expect(places.at(-1)).toEqual({ line: 6, character: 0 })
  })

  test("the first line of a text is where what has no place is shown", () => {
    expect(firstLine({ text: "abc\r\nde", start: { line: 4, character: 2 } })).toEqual(range(4, 2, 4, 5))
    expect(firstLine({ text: "abc", start: { line: 4, character: 2 } })).toEqual(range(4, 2, 4, 5))
  })
})

describe("what is evaluated", () => {
  const lines = documentOf("let a = 1\r\n  a + 1\r\n\r\n   \r\nb")
  test.each<[string, Range, ReturnType<typeof selectedText>]>([
    [
      "the line of an empty selection, with its margin",
      range(1, 4, 1, 4),
      { text: "  a + 1", start: { line: 1, character: 0 } },
    ],
    [
      "the selection as it stands in the document",
      range(0, 4, 1, 3),
      { text: "a = 1\r\n  a", start: { line: 0, character: 4 } },
    ],
    ["nothing on an empty line", range(2, 0, 2, 0), undefined],
    ["nothing on one of white space", range(3, 1, 3, 1), undefined],
    ["nothing when that is all that is selected", range(1, 7, 3, 2), undefined],
    ["the last line without an end", range(4, 1, 4, 1), { text: "b", start: { line: 4, character: 0 } }],
  ])("%s", (_name, selection, expected) => {
    expect(selectedText(lines, selection)).toEqual(expected)
  })
})
