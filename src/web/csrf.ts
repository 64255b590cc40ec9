import type { FastifyRequest } from 'fastify';
import { type Keyring, sign, verifySignature } from '../lib/keyring.ts';
import { forbidden } from './errors.ts';

/** The browser that a token is valid in: both ids are the values of its cookies. */
interface BrowserIds {
  visitorId: string;
  sessionId: string | undefined;
}

export function createCsrfToken(keys: Keyring, ids: BrowserIds): string {
  return sign(keys, 'csrf', signedText(ids));
}

/** Accepts a form only from a page of this origin that was rendered for this browser. */
export function verifyCsrfToken(request: FastifyRequest, keys: Keyring, ids: BrowserIds, webOrigin: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const foreign = (origin !== undefined && origin !== webOrigin) || (site !== undefined && site !== 'same-origin');
  const csrf = (request.body as Record<string, unknown> | null | undefined)?.csrf;
  if (foreign || typeof csrf !== 'string' || !verifySignature(keys, 'csrf', signedText(ids), csrf)) {
    throw forbidden(
      'This form did not come from a page opened in this browser. Go back, reload the page and try again.',
    );
  }
}

/**
 * Uses the session cookie, not the live session: a form sent after its session expired still comes from this browser and
 * leads to the sign-in page. Signing in or out replaces the cookie and so invalidates every earlier token.
 */
function signedText({ visitorId, sessionId = '' }: BrowserIds): string {
  return `${visitorId} ${sessionId}`;
}
