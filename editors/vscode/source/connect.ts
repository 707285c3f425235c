// Starts the process that a session runs in, with the client library.
import { connectStdio } from "../../../runtime/client/index.ts"
import type { Connection } from "./session.ts"

export interface ProcessSettings {
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** Where it is started: imports and packages are looked for from there. */
  readonly cwd: string | undefined
  readonly onStderr: (text: string) => void
}

export async function connectProcess(
  { command, cwd, onStderr }: ProcessSettings,
  profile: string,
  onLost: (reason: string) => void,
): Promise<Connection> {
  return connectStdio({
    command,
    ...(cwd === undefined ? {} : { cwd }),
    onStderr,
    initialize: { client: { name: "nacre-vscode" }, kind: "ide", profile },
    onConnection: (change) => {
      if (change.type === "lost") onLost(change.reason)
    },
  })
}
