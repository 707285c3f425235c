import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", "./test/closing-line.ts"],
    pool: "forks",
    // Two forks: the system tests start OS processes of their own, and a small machine has two cores.
    maxWorkers: 2,
    // A hang is a failure; slowness of a loaded machine is not.
    testTimeout: 180_000,
    hookTimeout: 120_000,
  },
})
