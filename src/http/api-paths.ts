/** The authorize endpoint responds to a browser. */
export function isJsonPath(path: string): boolean {
  return path !== '/api/v1/oauth/authorize' && isApiAddress(path);
}

export function isApiAddress(path: string): boolean {
  return /^\/(api|mcp|\.well-known|healthz|readyz|openapi\.json)(\/|$)/.test(path);
}
