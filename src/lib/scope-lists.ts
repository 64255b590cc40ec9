/** Names of scopes, each once, in the order of `oauth/scopes.ts`. */
export type Scopes = readonly string[];

/** RFC 6749 §3.3: names separated by spaces. Columns hold scopes in the same form. */
export function parseScopes(text: string): string[] {
  return text.split(' ').filter((name) => name !== '');
}

export function formatScopes(scopes: Scopes): string {
  return scopes.join(' ');
}

/** The scopes of the first list that are in the second, too. */
export function commonScopes(scopes: Scopes, others: Scopes): Scopes {
  return scopes.filter((name) => others.includes(name));
}

/** The scopes of the first list that are not in the second. */
export function scopesBeyond(scopes: Scopes, allowed: Scopes): Scopes {
  return scopes.filter((name) => !allowed.includes(name));
}
