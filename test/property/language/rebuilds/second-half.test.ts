// See `compare.ts`.
import { testPrograms } from "./compare.ts"

testPrograms(1)
