// Changes to code among a session's committed values: what was done to built-ins, and what was put on definitions after they were made.
//
// The worker commits each as a value of its own, under the way to it: `Array.prototype.last`, `Klass.registry`, `f["a b"]`. So they share
// objects with bindings, are lost by name and come back like values; but they are no bindings, and nothing that lists names shows them.

/** Whether a name among the locals is that of a change: no identifier has one of these characters. */
export function isCodeChange(name: string): boolean {
  return name.includes(".") || name.includes("[")
}

/** What a change is to, by the name that the way to it begins with: a definition, or a built-in. */
export function ownerOfChange(name: string): string {
  return name.slice(0, name.search(/[.[]/))
}
