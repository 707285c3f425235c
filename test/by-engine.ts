// What the engine says of scripts that share one context: what sessions are held to.
import { inspect } from "node:util"
import vm from "node:vm"

/** The result of each script as text, or what it threw. */
export function byEngine(scripts: readonly string[]): string[] {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  return scripts.map((script) => {
    try {
      const value = vm.runInContext(`"use strict";void 0;${script}`, context) as unknown
      return inspect(typeof value === "function" ? undefined : value, { depth: 9 })
    } catch (error) {
      return inspect(String(error))
    }
  })
}
