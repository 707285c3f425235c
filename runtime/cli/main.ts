#!/usr/bin/env node
// The `nacre` command. It only picks what to run: each command loads what it needs itself, so that `--help` costs nothing.
import { run } from "./commands.ts"

process.exitCode = await run(process.argv.slice(2))
