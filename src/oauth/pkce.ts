import { sameText, sha256 } from '../lib/secrets.ts';

/** RFC 7636 §4.2: the S256 challenge is the base64url of a SHA-256, which is always 43 characters. */
export function isChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

export function matchesChallenge(verifier: string, challenge: string): boolean {
  return isVerifier(verifier) && sameText(sha256(verifier), challenge);
}

/** RFC 7636 §4.1. */
function isVerifier(text: string): boolean {
  return /^[A-Za-z0-9\-._~]{43,128}$/.test(text);
}
