// A vitest reporter that ends the run with one plain line, `N passed, N failed, N skipped`.
//
// Vitest's own summary has no line that counts in every CI; this one does. A file that fails to load counts as one failure, so
// that a broken import can never look like a smaller but green run.
import type { Reporter, TestModule } from "vitest/node"

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      if (module.errors().length > 0) counts.failed += 1
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === "passed") counts.passed += 1
        else if (state === "failed") counts.failed += 1
        else counts.skipped += 1
      }
    }
    process.on("exit", () => {
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    })
  }
}
