export function describeError() {}
export function errorToJson() {}
