// Well-known symbols by name, in both directions. They are the same in every realm of a process, but not in another process.

import { descriptorOf, MapOf, mapGet, mapSet, SymbolOf } from "../../../stdlib/intrinsics.ts"
import { wellKnownSymbolNames } from "./format.ts"

const symbolsByName = new MapOf<string, symbol>()
const namesBySymbol = new MapOf<symbol, string>()

for (let i = 0; i < wellKnownSymbolNames.length; i++) {
  const name = wellKnownSymbolNames[i]!
  // Older engines lack the newest ones; a table that names such a one is refused by the decoder.
  const symbol: unknown = descriptorOf(SymbolOf, name)?.value
  if (typeof symbol === "symbol") {
    mapSet(symbolsByName, name, symbol)
    mapSet(namesBySymbol, symbol, name)
  }
}

export function wellKnownSymbolName(symbol: symbol): string | undefined {
  return mapGet(namesBySymbol, symbol)
}

export function wellKnownSymbol(name: string): symbol | undefined {
  return mapGet(symbolsByName, name)
}
