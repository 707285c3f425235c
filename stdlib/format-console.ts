export function formatConsole() {}
