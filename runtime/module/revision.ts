// The record of a revision: what a session's module became, from what, by whom and why. History is append-only.

export interface RevisionChange {
  op: "set" | "remove" | "wrap" | "unwrap"
  key: string
  /** Of a wrapper: its own key. */
  wrapper?: string
  /** "function", "class", "const", …; of a removed one, what it was. */
  kind: string
  source?: string
  previousSource?: string
  /** Of an import: the files that it leads to, with the digests of their contents. Neither says where they lie. */
  files?: { name: string; digest: string }[]
  /** Where it stands in the submission that brought it. */
  span?: { start: number; end: number; line: number; column: number }
  /** Its type as a declaration, where a checker has told it. */
  scheme?: string
  previousScheme?: string
}

export interface RevisionRecord {
  session: string
  revision: number
  /** The revision that it was made from: the one before. */
  parent: number
  /** `restore` names the revision that it equals. */
  cause: "eval" | "submit" | "restore" | "import" | "reset" | "rollback" | "wrap"
  restored?: number
  /** Of `eval`, and of what session code proposed. */
  evalId?: string
  /** Who made it. `session:` and its id: the session's own code. */
  principal?: string
  /** Of a change that session code made: the principal of its eval. */
  onBehalfOf?: string
  reason?: string
  changes: RevisionChange[]
  /** Definitions that were made again since they depend on a change. */
  reinstantiated: string[]
  /** Definitions that lost data which their declaration does not make. */
  lostData: string[]
  /** Locals that hold what is no longer in force. */
  stale: string[]
  /** Of the whole set of declarations and wrappers. */
  digest: string
  /** Milliseconds since the epoch. */
  at: number
}
