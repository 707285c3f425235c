// The page's example is the example that runs, and it prints what the page says.
import { readFileSync } from "node:fs"
import { format } from "node:util"
import { expect, it, vi } from "vitest"

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8")

function fence(page: string, language: string): string {
  return new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(page)?.[1] ?? ""
}

it("runs the example of docs/SUPERVISOR.md", async () => {
  const page = read("../../../docs/SUPERVISOR.md")
  const example = read("../../examples/supervisor.ts").replace("../../supervisor/index.ts", "nacre/supervisor")
  expect(fence(page, "ts")).toBe(example)
  const lines: string[] = []
  const log = vi.spyOn(console, "log").mockImplementation((...values: unknown[]) => void lines.push(format(...values)))
  try {
    await import("../../examples/supervisor.ts")
  } finally {
    log.mockRestore()
  }
  expect(`${lines.join("\n")}\n`).toBe(fence(page, "text"))
})
