// What an `import` of session code asks for, read from its tree: which module, and which of its exports under which names.
//
// An import is a definition of a name of its own: the text that is kept of it is a whole statement that imports just that name, so that it
// can be run again by itself. Bindings that are only types leave nothing behind.
import type { Node } from "./parse.ts"

export interface ImportBinding {
  local: string
  /** The export's name; `*` for the namespace, `=` for what `require` gives. */
  imported: string
  start: number
  end: number
}

export interface ImportSite {
  specifier: string
  /** The attribute `type`, or nothing. */
  type: string
  bindings: ImportBinding[]
  start: number
  end: number
}

type Of<T extends Node["type"]> = Extract<Node, { type: T }>

/** What an import that is no type asks for; a message when it uses a form that has no meaning here. */
export function importSite(node: Of<"ImportDeclaration">): ImportSite | string {
  if (node.phase !== null) return `\`import ${node.phase}\` is not supported; import the module and use its exports`
  const bindings: ImportBinding[] = []
  for (const specifier of node.specifiers) {
    if (specifier.type === "ImportSpecifier" && specifier.importKind === "type") continue
    const { local, start, end } = specifier
    let imported = "*"
    if (specifier.type === "ImportDefaultSpecifier") imported = "default"
    else if (specifier.type === "ImportSpecifier") imported = exportName(specifier.imported)
    bindings.push({ local: local.name, imported, start, end })
  }
  let type = ""
  for (const { key, value } of node.attributes) {
    const name = key.type === "Identifier" ? key.name : key.value
    if (name !== "type") return `Import attribute '${name}' is not known; the only one is \`type: "json"\``
    type = value.value
  }
  return { specifier: node.source.value, type, bindings, start: node.start, end: node.end }
}

/** `import x = require("y")`; undefined for an alias of a namespace's member, which is no import. */
export function requireSite(node: Of<"TSImportEqualsDeclaration">): ImportSite | undefined {
  if (node.moduleReference.type !== "TSExternalModuleReference") return undefined
  const { start, end, id } = node
  const binding = { local: id.name, imported: "=", start: id.start, end: id.end }
  return { specifier: node.moduleReference.expression.value, type: "", bindings: [binding], start, end }
}

/** A name that stands in an import or export specifier. */
export function exportName(node: { type: string; name?: string; value?: unknown }): string {
  return node.type === "Literal" ? String(node.value) : (node.name ?? "")
}

/** The statement that imports one name alone. */
export function importText({ specifier, type }: ImportSite, { local, imported }: ImportBinding): string {
  const from = JSON.stringify(specifier)
  const attributes = type === "" ? "" : ` with { type: ${JSON.stringify(type)} }`
  if (imported === "=") return `import ${local} = require(${from})`
  if (imported === "*") return `import * as ${local} from ${from}${attributes}`
  if (imported === local) return `import { ${local} } from ${from}${attributes}`
  const name = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(imported) ? imported : JSON.stringify(imported)
  return `import { ${name} as ${local} } from ${from}${attributes}`
}

/** The imports of a unit as its text says them to the realm (`stdlib/environment.ts`, `UnitImport`). */
export function importLiterals(sites: readonly ImportSite[]): string {
  return sites.map(importLiteral).join(",")
}

function importLiteral({ specifier, type, bindings }: ImportSite): string {
  const isRequire = bindings[0]?.imported === "="
  const names = bindings.map(({ imported }) => imported).filter((name) => name !== "*" && name !== "=")
  const request = JSON.stringify([specifier, type, isRequire ? "require" : "import", names])
  const reads = bindings.map(({ imported }) =>
    imported === "*" || imported === "=" ? "n=>()=>n" : `n=>()=>n[${JSON.stringify(imported)}]`,
  )
  const locals = JSON.stringify(bindings.map(({ local }) => local))
  const wanted = JSON.stringify(bindings.map(({ imported }) => imported))
  return `{request:${JSON.stringify(request)},names:${locals},wanted:${wanted},reads:[${reads.join(",")}]}`
}
