// The tree as it is now: as data, and as text for people.
//
// Read without a message, so that it also answers while a supervisor is busy. It is a picture: what it shows may end right after.
import { inStartOrder, type ChildStatus } from "./children.ts"
import type { ChildType } from "./child-spec.ts"
import type { Process } from "./process.ts"
import type { Supervisor } from "./supervisor.ts"

export interface TreeNode {
  readonly id: string
  readonly type: ChildType
  readonly status: ChildStatus | "ended"
  /** What the child tells of itself: a state, a pid. */
  readonly info: string
  readonly children: readonly TreeNode[]
  /** Children beyond `childrenMax`. */
  readonly omitted: number
}

/** Children listed per supervisor unless told otherwise: a screen, not a hundred thousand lines. */
const childrenMaxDefault = 100

export function treeOf(supervisor: Supervisor, options: { readonly childrenMax?: number } = {}): TreeNode {
  return nodeOf(
    supervisor.name,
    "supervisor",
    supervisor.process.isAlive ? "running" : "ended",
    supervisor.process,
    options,
  )
}

/** One line per node: `├─ id  (status) info`. */
export function printTree(supervisor: Supervisor, options: { readonly childrenMax?: number } = {}): string {
  const lines: string[] = []
  const root = treeOf(supervisor, options)
  lines.push(lineOf(root))
  printChildren(root, "", lines)
  return lines.join("\n")
}

function nodeOf(
  id: string,
  type: ChildType,
  status: TreeNode["status"],
  process: Process | undefined,
  options: { readonly childrenMax?: number },
): TreeNode {
  const { childrenMax = childrenMaxDefault } = options
  const supervisor = process?.like?.supervisor
  const children: TreeNode[] = []
  let omitted = 0
  if (supervisor !== undefined && status === "running") {
    for (const child of inStartOrder(supervisor.state.children)) {
      if (children.length >= childrenMax) {
        omitted = supervisor.state.children.bySlot.size - children.length
        break
      }
      const { spec, process: running } = child
      const childId = supervisor.state.children.hasIds ? spec.id : `${spec.id}[${child.slot}]`
      const isEnded = child.status === "running" && running?.isAlive !== true
      children.push(nodeOf(childId, spec.type, isEnded ? "ended" : child.status, running, options))
    }
  }
  return { id, type, status, info: process?.isAlive === true ? process.describe() : "", children, omitted }
}

function printChildren(node: TreeNode, indent: string, lines: string[]): void {
  node.children.forEach((child, index) => {
    const isLast = index === node.children.length - 1 && node.omitted === 0
    lines.push(`${indent}${isLast ? "└─" : "├─"} ${lineOf(child)}`)
    printChildren(child, `${indent}${isLast ? "   " : "│  "}`, lines)
  })
  if (node.omitted > 0) lines.push(`${indent}└─ … ${node.omitted} more`)
}

function lineOf({ id, status, info }: TreeNode): string {
  const state = status === "running" ? "" : ` (${status})`
  return `${id}${state}${info === "" ? "" : `  ${info}`}`
}
