// A worker that ends its task with something no other thread can be given, which kills it.
export function serve() {
  return () => "a function"
}
