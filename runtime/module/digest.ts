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

function hashOf(member: string): bigint {
  return BigInt(`0x${createHash("sha256").update(member).digest("hex")}`)
}
