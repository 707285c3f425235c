// docs/PROTOCOL.md and docs/ERRORS.md are what the tables say; `npx vitest run` on this file with `--update` writes them.
import { expect, it } from "vitest"
import { errorsPage, protocolPage } from "../../../runtime/serve/pages.ts"

it("docs/PROTOCOL.md is made from the method table", async () => {
  await expect(protocolPage()).toMatchFileSnapshot("../../../docs/PROTOCOL.md")
})

it("docs/ERRORS.md is made from the error table", async () => {
  await expect(errorsPage()).toMatchFileSnapshot("../../../docs/ERRORS.md")
})
