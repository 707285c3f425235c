// From V8's words to the user's: stack frames at their place in the source, and messages without our names in them.
//
// A stack is text: that is what leaves a realm. Frames whose file is no unit (our realm-side code, Node, natives) are dropped; the
// function that holds a unit's statements has no name in the result. V8 prints the callee of a failed call from the generated code, so
// `(0 , $$_f.v) is not a function` has to become `f is not a function`.
import { cleanText } from "../../stdlib/messages.ts"
import type { CompiledUnit } from "./compile.ts"
import type { Position } from "./positions.ts"

/** One frame of user code. `name` is absent for the statements of an eval. */
export interface Frame extends Position {
  name?: string
  filename: string
  isAsync: boolean
}

/** A message of V8's with the names that the user wrote. */
export const cleanMessage = cleanText

type Mapped = Pick<CompiledUnit, "map">

const frameLine = /^\s+at (async )?(?:(.*) \()?((?:[^()]|\([^()]*\))*?):(\d+):(\d+)\)?$/

/** The user frames of a stack, innermost first. The message lines in front of the frames are ignored. */
export function mapStack(stack: string, unitOf: (filename: string) => Mapped | undefined): Frame[] {
  const frames: Frame[] = []
  for (const line of stack.split("\n")) {
    const match = frameLine.exec(line)
    if (match === null) continue
    const [, async, name, filename, lineText, columnText] = match
    const place = unitOf(filename!)?.map(Number(lineText), Number(columnText))
    if (place === undefined) continue
    const shown = name === undefined ? undefined : functionName(name)
    frames.push({ ...(shown === undefined ? {} : { name: shown }), ...place, isAsync: async !== undefined })
  }
  return frames
}

/** V8's name of a frame without `Object.` and the like in front of ours; `undefined` for a function of ours. */
function functionName(name: string): string | undefined {
  if (/(?:^|[ .])\$\$+_(?:run|make)$/.test(name)) return undefined
  return cleanText(name)
}
