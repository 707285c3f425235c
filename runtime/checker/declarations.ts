// What is asked of the checker and what it answers, in the words of both sides. Plain data: all of it crosses a process boundary.

import type { Jsx } from "../language/jsx-option.ts"

/** The declarations of one name: what a set consists of. */
export interface DeclarationText {
  /** The name. Every declaration of it stands in `source`: overloads, merged interfaces, a class and its namespace, a type and its value. */
  key: string
  /** Their original TypeScript text. */
  source: string
  /** Keys of the files that specifiers in it mean, where these are told. */
  targets?: { specifier: string; key: string }[] | undefined
  /** It is no declaration but a file that an import leads to; the key is no name. */
  isFile?: boolean | undefined
}

/** A name that is bound but not declared in the set: a session's local. */
export interface LocalText {
  name: string
  /** `let` or `const`, as it can be assigned or not. */
  keyword: "let" | "const"
  /** Its type as TypeScript text; `any` when nobody knows. */
  type: string
}

/** A module whose exports the session sees by bare name. */
export interface PreludeText {
  name: string
  source: string
  /** Where what it imports is looked for from. */
  directory: string
  /** Names of values and of types. */
  exports: string[]
}

/** What surrounds the declarations of a session. Its changes never count as a change's fault. */
export interface Environment {
  /** Equal ids mean equal contents. Unguessable where sessions of different people share a checker is not needed: an id is looked up in its session. */
  id: string
  profile: string
  /** Globals of the workspace: declarations as in a `.d.ts` file without imports. */
  ambient: string
  /** Preludes of the workspace, in their order. */
  preludes: PreludeText[]
  locals: LocalText[]
  /** Where packages are looked up; without one every import is `any`. */
  directory?: string | undefined
  /** What JSX is turned into; without it there is none. */
  jsx?: Jsx | undefined
}

/** A place that a diagnostic points to besides its own. */
export interface RelatedPlace {
  /** The declaration it lies in; `undefined` is the statements. */
  key?: string | undefined
  message: string
  start: number
  length: number
}

export interface Diagnostic {
  /** The declaration it lies in; `undefined` is the statements. */
  key?: string | undefined
  /** TypeScript's number. */
  code: number
  /** TypeScript's words, with both types where it names them. */
  message: string
  related: RelatedPlace[]
  /** UTF-16 units in that declaration's own source. */
  start: number
  length: number
  category: "error" | "warning"
  /** False for one that the set before had as well: it is no reason to refuse a change. */
  isNew: boolean
}

export interface KeyedText {
  name: string
  text: string
}

export interface CheckAnswer {
  diagnostics: Diagnostic[]
  /** The declaration text of each changed key: what others see of it. */
  schemes: KeyedText[]
  /** The type text of each local that the statements declare or make. */
  localTypes: LocalText[]
  /** Keys whose sources were looked at. */
  checkedCount: number
}

/** A name that may stand at a place. */
export interface Completion {
  name: string
  kind: string
}

export interface Completions {
  /** What a chosen name replaces. */
  start: number
  end: number
  items: Completion[]
  /** There are more than the limit. */
  isCut: boolean
}

export interface Hover {
  start: number
  end: number
  /** The declaration, as an editor shows it. */
  text: string
  documentation: string
}

export interface Signature {
  /** The whole: `f(a: number, b?: string): void`. */
  text: string
  documentation: string
  parameters: { text: string; documentation: string }[]
}

export interface Signatures {
  items: Signature[]
  /** Which of them fits what is written so far, and which of its parameters is being written. */
  active: number
  parameter: number
}
