// What the encoder still has to write, and the way to it: a frame is an object of which some slots are left, and the frames below it lead
// from the root to it. Their labels make the path by which an ephemeral is named.

import { pathStep, quoteText, symbolText } from "../../../stdlib/quote.ts"

export const frameFields = 0
export const frameItems = 1
export const frameSlots = 2
/** The variables of an activation. */
export const frameCaptures = 3

/** An object of which only the first `position` slots are written. */
export interface Frame {
  readonly kind: number
  readonly object: object
  /** Keys of fields; labels of the slots of a list. */
  readonly list: unknown
  position: number
  /** The slot before `position` is being written; until then the frame only waits and is no part of the path. */
  begun: boolean
  readonly end: number
  readonly below: Frame | undefined
}

/** What the slots of a list are in a path: property keys, or the entries of a map or set. */
export type SlotLabels = readonly (string | symbol)[] | "map" | "set"

/** The path of what is being written, from the root's name. */
export function pathOf(top: Frame | undefined, root: string): string {
  let path = ""
  for (let frame = top; frame !== undefined; frame = frame.below) {
    if (!frame.begun) continue
    const at = frame.position - 1
    if (frame.kind === frameCaptures) path = `{${capturedText((frame.list as string[])[at]!)}}${path}`
    else if (frame.kind === frameItems) path = `[${at}]${path}`
    else if (frame.kind === frameFields) path = pathStep((frame.list as string[])[at]!) + path
    else path = slotStep(frame.object as unknown[], frame.list as SlotLabels, at) + path
  }
  return root + path
}

/** A private name is told by its class. */
function capturedText(name: string): string {
  for (let at = 0; at < name.length; at++) if (name[at] === "#") return `private ${name}`
  return `captured ${name}`
}

function slotStep(list: unknown[], labels: SlotLabels, at: number): string {
  if (labels === "set") return `{${at}}`
  if (labels !== "map") return pathStep(labels[at]!)
  const key = list[at - (at % 2)]
  if (at % 2 === 0) return `{key ${at / 2}}`
  switch (typeof key) {
    case "string":
      return `.get(${quoteText(key)})`
    case "symbol":
      return `.get(${symbolText(key)})`
    case "number":
    case "boolean":
    case "bigint":
    case "undefined":
      return `.get(${key})`
    case "function":
    case "object":
      return key === null ? ".get(null)" : `.get({key ${(at - 1) / 2}})`
  }
  return ""
}
