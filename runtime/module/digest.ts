// The digest of a whole set of declarations, which changes with each of them at a cost that does not depend on how many there are.
//
// It is the sum of the SHA-256 digests of its members modulo 2^256 (an incremental multiset hash in the manner of Bellare and Micciancio's
// AdHash): the same set gives the same sum in whatever order it came about, on every machine. It tells whether two sets are equal, and is
// not meant to withstand someone who constructs sets of equal sums.
import { createHash } from "node:crypto"

const modulus = 1n << 256n

export class SetDigest {
  #sum: bigint

  constructor(sum = 0n) {
    this.#sum = sum
  }

  add(member: string): void {
    this.#sum = (this.#sum + hashOf(member)) % modulus
  }

  remove(member: string): void {
    this.#sum = (this.#sum - hashOf(member) + modulus) % modulus
  }

  copy(): SetDigest {
    return new SetDigest(this.#sum)
  }

  /** 64 hexadecimal digits. */
  toString(): string {
    return this.#sum.toString(16).padStart(64, "0")
  }
}

/** A prelude that a set was made beside. */
export interface PreludeDigest {
  readonly name: string
  readonly digest: string
}

export function preludeDigests(preludes: readonly PreludeDigest[] | undefined): PreludeDigest[] {
  return (preludes ?? []).map(({ name, digest }) => ({ name, digest }))
}

/** The digest of a set of declarations with what they stand on; that of the set itself where there are no preludes. */
export function digestBeside(declarations: string, preludes: readonly PreludeDigest[]): string {
  if (preludes.length === 0) return declarations
  return textDigest(JSON.stringify([declarations, ...preludes.map(({ name, digest }) => [name, digest])]))
}

/** In words, what two lists of preludes do not have in common. */
export function differentPreludes(wanted: readonly PreludeDigest[], there: readonly PreludeDigest[]): string[] {
  const known = new Map(there.map(({ name, digest }) => [name, digest]))
  const different = wanted.flatMap(({ name, digest }) => {
    if (!known.has(name)) return [`prelude '${name}' is not loaded`]
    return known.get(name) === digest ? [] : [`prelude '${name}' is another text`]
  })
  const names = new Set(wanted.map(({ name }) => name))
  for (const { name } of there) if (!names.has(name)) different.push(`prelude '${name}' is loaded besides`)
  const isReordered = different.length === 0 && wanted.some(({ name }, index) => there[index]?.name !== name)
  return isReordered ? ["the preludes are loaded in another order"] : different
}

/** A file that an import leads to, by what it is called there. */
export interface FileDigest {
  readonly name: string
  readonly digest: string
}

/** In words, what the files of an import do not have in common with those that it leads to now. */
export function differentFiles(
  name: string,
  wanted: readonly FileDigest[] = [],
  there: readonly FileDigest[] = [],
): string[] {
  const known = new Map(there.map((file) => [file.name, file.digest]))
  const different = wanted.flatMap((file) => {
    if (!known.has(file.name)) return [`'${file.name}' of import '${name}' is not there`]
    return known.get(file.name) === file.digest ? [] : [`'${file.name}' of import '${name}' is another text`]
  })
  const names = new Set(wanted.map((file) => file.name))
  for (const file of there) if (!names.has(file.name)) different.push(`import '${name}' needs '${file.name}' besides`)
  return different
}

export function textDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

function hashOf(member: string): bigint {
  return BigInt(`0x${createHash("sha256").update(member).digest("hex")}`)
}
