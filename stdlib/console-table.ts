// `console.table(…)`: rows and columns as Node draws them, without running session code.
import {
  arrayIsArray,
  descriptorOf,
  isEnumerable,
  MapOf,
  mapEntries,
  mapGet,
  mapNext,
  mapSet,
  newList,
  objectKeys,
  setNext,
  setValues,
  stringCodeAt,
  stringRepeat,
  stringSlice,
} from "./intrinsics.ts"
import { brandOf } from "./brands.ts"
import { Previewer } from "./preview.ts"
import type { PreviewLimits, TextOf } from "./preview.ts"

/** More than anybody reads; what is left out is said below the table. */
const rowsMax = 1_000
const columnsMax = 100
/** Cells as Node has them: one level, three items of an array. */
const cellLimits: PreviewLimits = { bytesMax: 1_024, depthMax: 1, itemsMax: 3 }
const wideCellLimits: PreviewLimits = { bytesMax: 1_024, depthMax: 0, itemsMax: 3 }
const cellKeysMax = 2

class Table {
  readonly heads: string[] = newList()
  readonly columns: string[][] = newList()
  readonly #byHead = new MapOf<string, number>()
  rows = 0
  /** What has no place in it. */
  rowsLeft = 0
  columnsLeft = 0

  column(head: string): string[] | undefined {
    const known = mapGet<number>(this.#byHead, head)
    if (known !== undefined) return this.columns[known]
    const at = this.heads.length
    if (at >= columnsMax) {
      this.columnsLeft += 1
      return undefined
    }
    mapSet(this.#byHead, head, at)
    this.heads[at] = head
    return (this.columns[at] = newList())
  }

  set(head: string, row: number, cell: string): void {
    const column = this.column(head)
    if (column !== undefined) column[row] = cell
  }
}

/** The lines of a table, or `undefined` for what is shown as any other value. `only`: the columns that are wanted, in their order. */
export function tableText(data: unknown, only: unknown, textOf?: TextOf): string | undefined {
  if (typeof data !== "object" || data === null || textOf?.(data) !== undefined) return undefined
  const cell = (value: unknown): string => cellText(value, textOf)
  const brand = brandOf(data)
  const table = new Table()
  if (brand === "map") fillFromMap(table, data, cell)
  else if (brand === "set") fillFromSet(table, data, cell)
  else if (brand === "proxy") return undefined
  else fillFromRows(table, data, onlyKeys(only), cell)
  return drawn(table)
}

function fillFromMap(table: Table, data: object, cell: (value: unknown) => string): void {
  table.column("(iteration index)")
  table.column("Key")
  table.column("Values")
  const entries = mapEntries(data)
  for (let step = mapNext(entries); step.done !== true; step = mapNext(entries)) {
    const row = nextRow(table)
    if (row === undefined) continue
    table.set("(iteration index)", row, `${row}`)
    table.set("Key", row, cell(step.value[0]))
    table.set("Values", row, cell(step.value[1]))
  }
}

function fillFromSet(table: Table, data: object, cell: (value: unknown) => string): void {
  table.column("(iteration index)")
  table.column("Values")
  const values = setValues(data)
  for (let step = setNext(values); step.done !== true; step = setNext(values)) {
    const row = nextRow(table)
    if (row === undefined) continue
    table.set("(iteration index)", row, `${row}`)
    table.set("Values", row, cell(step.value))
  }
}

function fillFromRows(
  table: Table,
  data: object,
  only: readonly string[] | undefined,
  cell: (value: unknown) => string,
): void {
  table.column("(index)")
  const wanted = only ?? newList<string>()
  for (let at = 0; at < wanted.length; at++) table.column(wanted[at]!)
  const loose: string[] = newList()
  const names = objectKeys(data)
  for (let at = 0; at < names.length; at++) {
    const row = nextRow(table)
    if (row === undefined) continue
    table.set("(index)", row, names[at]!)
    const value = plainly(data, names[at]!)
    const isObject = (typeof value === "object" && value !== null) || typeof value === "function"
    if (isObject && !isOpaque(value)) fillRow(table, row, value, only, cell)
    else if (only === undefined) loose[row] = cell(value)
  }
  if (loose.length > 0) {
    table.heads[table.heads.length] = "Values"
    table.columns[table.columns.length] = loose
  }
}

function fillRow(
  table: Table,
  row: number,
  value: object,
  only: readonly string[] | undefined,
  cell: (value: unknown) => string,
): void {
  const keys = only ?? objectKeys(value)
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at]!
    if (isEnumerable(value, key)) table.set(key, row, cell(plainly(value, key)))
  }
}

/** Its keys would be asked of a handler. */
function isOpaque(value: object): boolean {
  return brandOf(value) === "proxy"
}

function nextRow(table: Table): number | undefined {
  if (table.rows < rowsMax) return table.rows++
  table.rowsLeft += 1
  return undefined
}

function onlyKeys(only: unknown): readonly string[] | undefined {
  if (!arrayIsArray(only)) return undefined
  const keys: string[] = newList()
  for (let at = 0; at < only.length; at++) {
    const key = plainly(only, `${at}`)
    if (typeof key === "string" || typeof key === "number") keys[keys.length] = `${key}`
  }
  return keys
}

/** What a data property holds; of an accessor what it is. */
function plainly(object: object, key: string): unknown {
  const descriptor = descriptorOf(object, key)
  if (descriptor === undefined) return undefined
  return descriptor.get === undefined && descriptor.set === undefined ? descriptor.value : accessorShown
}

/** Stands for a value that only code of the session's could give. */
const accessorShown: object = { __proto__: null }

function cellText(value: unknown, textOf: TextOf | undefined): string {
  if (value === accessorShown) return "[Getter]"
  const isWide =
    typeof value === "object" &&
    value !== null &&
    !arrayIsArray(value) &&
    !isOpaque(value) &&
    objectKeys(value).length > cellKeysMax
  return oneLine(new Previewer(isWide ? wideCellLimits : cellLimits, textOf).show(value))
}

/** Texts have no line breaks of their own: those there are lay out an object. */
function oneLine(text: string): string {
  let line = ""
  let from = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "\n") continue
    line += `${stringSlice(text, from, at)} `
    while (text[at + 1] === " ") at++
    from = at + 1
  }
  return line + stringSlice(text, from)
}

function drawn({ heads, columns, rows, rowsLeft, columnsLeft }: Table): string {
  const widths: number[] = newList()
  const titles: string[] = newList()
  for (let at = 0; at < heads.length; at++) {
    titles[at] = oneLine(heads[at]!)
    let widest = widthOf(titles[at]!)
    for (let row = 0; row < rows; row++) {
      const width = widthOf(columns[at]![row] ?? "")
      if (width > widest) widest = width
    }
    widths[at] = widest
  }
  let text = `${rule("┌", "┬", "┐", widths)}\n${rowText(titles, widths)}\n${rule("├", "┼", "┤", widths)}\n`
  for (let row = 0; row < rows; row++) {
    const cells: string[] = newList()
    for (let at = 0; at < heads.length; at++) cells[at] = columns[at]![row] ?? ""
    text += `${rowText(cells, widths)}\n`
  }
  text += rule("└", "┴", "┘", widths)
  if (rowsLeft > 0) text += `\n... ${rowsLeft} more rows`
  if (columnsLeft > 0) text += `\n... ${columnsLeft} cells in more columns`
  return text
}

function rule(left: string, middle: string, right: string, widths: readonly number[]): string {
  let text = left
  for (let at = 0; at < widths.length; at++) text += (at === 0 ? "" : middle) + stringRepeat("─", widths[at]! + 2)
  return text + right
}

function rowText(cells: readonly string[], widths: readonly number[]): string {
  let text = "│"
  for (let at = 0; at < widths.length; at++)
    text += ` ${cells[at]!}${stringRepeat(" ", widths[at]! - widthOf(cells[at]!))} │`
  return text
}

/** Columns of a terminal: two for wide characters and emoji, none for what combines with the one before. */
function widthOf(text: string): number {
  let width = 0
  for (let at = 0; at < text.length; at++) {
    const code = stringCodeAt(text, at)
    if (code >= 0xd800 && code <= 0xdbff) {
      width += 2
      at++
    } else if ((code >= 0x300 && code <= 0x36f) || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) continue
    else width += isWideCode(code) ? 2 : 1
  }
  return width
}

function isWideCode(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6)
  )
}
