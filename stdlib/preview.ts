export function preview() {}
