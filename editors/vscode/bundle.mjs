// Joins the extension and the client library to one file, so that the package needs no `node_modules`. The editor's API stays outside, and so does
// `ws`, which the client takes for sockets only where the platform has none: the extension speaks over standard input and output.
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

export const outfile = here("dist/extension.cjs")

await build({
  entryPoints: [here("source/extension.ts")],
  outfile,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode", "ws"],
  // The client's own command is looked for beside its file, which a bundle has not; the extension always names one.
  logOverride: { "empty-import-meta": "silent" },
  legalComments: "none",
})
