import { errorUri, toErrorCharacters } from '../../http/errors.ts';
import type { Callback, CallbackError } from '../errors.ts';

/** The answer to an authorize request: the registered address, its own query kept (RFC 6749 §3.1.2), and ours behind. */
export function codeLocation(callback: Callback, code: string, issuer: string): string {
  return locationOf(callback, new URLSearchParams({ code }), issuer);
}

export function errorLocation({ callback, error: refusal }: CallbackError, issuer: string): string {
  const { code, reason, message } = refusal;
  const answer = new URLSearchParams({
    error: code,
    error_description: toErrorCharacters(message),
    error_uri: errorUri(issuer, code, reason),
    reason,
  });
  return locationOf(callback, answer, issuer);
}

function locationOf({ redirectUri, state }: Callback, answer: URLSearchParams, issuer: string): string {
  if (state !== undefined) answer.append('state', '');
  // `state` stands as it came; everything else is encoded here. `iss` is RFC 9207.
  const query = `${answer}${state ?? ''}&${new URLSearchParams({ iss: issuer })}`;
  return `${redirectUri}${joint(redirectUri)}${query}`;
}

function joint(redirectUri: string): string {
  if (!redirectUri.includes('?')) return '?';
  return /[?&]$/.test(redirectUri) ? '' : '&';
}
