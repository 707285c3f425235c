// A worker that starts, says nothing and ends never.
export function serve() {
  return new Promise(() => setInterval(() => {}, 1_000_000))
}
