export { serve } from "./websocket.ts"
export type { ServeOptions, Served } from "./websocket.ts"
