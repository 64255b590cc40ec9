import { FormError } from '../../../lib/errors.ts';
import { formatScopes } from '../../../lib/scope-lists.ts';
import { sha256 } from '../../../lib/secrets.ts';
import { type Form, text } from '../../forms.ts';
import type { PlaygroundState } from './walk.ts';

/** What the browser is sent to the authorize endpoint with (RFC 6749 §4.1.1, RFC 7636 §4.3). */
export function authorizeQuery(walk: PlaygroundState, state: string): Record<string, string> {
  return {
    response_type: 'code',
    client_id: walk.appId,
    redirect_uri: walk.redirectUri,
    scope: formatScopes(walk.scopes),
    state,
    code_challenge: sha256(walk.verifier),
    code_challenge_method: 'S256',
  };
}

export function authorizeUrl(issuer: string, walk: PlaygroundState, state: string): string {
  return `${issuer}/api/v1/oauth/authorize?${new URLSearchParams(authorizeQuery(walk, state))}`;
}

/** How an authorize request was answered. */
export interface Callback {
  code: string;
  /** Empty where the code was pasted alone. */
  iss: string;
  error: string;
  description: string;
  errorUri: string;
}

const NAMES = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];
const LONGEST = 500;
const CODE = /^[\x21-\x7e]+$/;

/** Undefined where it is no answer at all, or says something twice. */
export function readCallback(query: Form): Callback | undefined {
  if (NAMES.some((name) => Array.isArray(query[name]))) return undefined;
  const read = (name: string) => text(query, name).slice(0, LONGEST);
  const [code, error] = [read('code'), read('error')];
  if (!CODE.test(code) && error === '') return undefined;
  return { code, iss: read('iss'), error, description: read('error_description'), errorUri: read('error_uri') };
}

/** The query of an answer that someone has copied: the whole address at which their browser ended, or the code. */
export function readPasted(pasted: string, state: string): URLSearchParams {
  const typed = pasted.trim();
  if (!typed.includes('=')) {
    if (CODE.test(typed) && typed.length <= LONGEST) return new URLSearchParams({ code: typed, state });
    throw new FormError('pasted', 'Paste the whole address that your browser was sent to, or the code in it.');
  }
  const query = new URLSearchParams(typed.replace(/^[^?]*\?/, '').replace(/#.*$/s, ''));
  const answer = new URLSearchParams([...query].filter(([name]) => NAMES.includes(name)));
  if (!readCallback(Object.fromEntries(answer))) {
    throw new FormError('pasted', 'There is neither a code nor an error in this address.');
  }
  if (answer.get('state') !== state) {
    throw new FormError(
      'pasted',
      'The state is not the one that was sent, so this is an answer to something else. Your app has to stop here, too.',
    );
  }
  return answer;
}
