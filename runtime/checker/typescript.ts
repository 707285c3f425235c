// TypeScript itself, as the CommonJS module it is.
//
// Imported like a module, Node would compile its nine megabytes once more to find out what they are, and scan them for names: half a second of
// every first check.
import { createRequire } from "node:module"
import type ts from "typescript"

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is exactly the package whose types these are
export const typescript = createRequire(import.meta.url)("typescript") as typeof ts
