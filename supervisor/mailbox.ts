// A first-in-first-out queue that takes a message off without moving the others.

/** Taken entries are dropped in blocks, so that neither a push nor a take ever costs more than a constant on average. */
const compactAt = 1024

export class Mailbox<Message> {
  #messages: Message[] = []
  #next = 0

  get isEmpty(): boolean {
    return this.#next >= this.#messages.length
  }

  push(message: Message): void {
    this.#messages.push(message)
  }

  take(): Message | undefined {
    const message = this.#messages[this.#next++]
    if (this.isEmpty) {
      this.clear()
    } else if (this.#next > compactAt && this.#next * 2 > this.#messages.length) {
      this.#messages = this.#messages.slice(this.#next)
      this.#next = 0
    }
    return message
  }

  clear(): void {
    this.#messages = []
    this.#next = 0
  }
}
