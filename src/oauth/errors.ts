import type { ErrorCode, ReasonOf } from './reasons.ts';

/** RFC 6749 §4.1.2.1 and §5.2, with the two that `prompt=none` adds (OpenID Connect Core §3.1.2.6). */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'login_required'
  | 'temporarily_unavailable'
  | 'consent_required';

/** A refusal to an app's developer: the code is the RFC's, the reason is ours, the sentence says what to do. */
export class OAuthError<Code extends OAuthErrorCode = OAuthErrorCode> extends Error {
  readonly code: Code;
  readonly reason: ReasonOf<Code>;

  constructor(code: Code, reason: ReasonOf<Code>, description: string) {
    super(description);
    this.code = code;
    this.reason = reason;
  }
}

/** The app's own credentials are missing or wrong. HTTP Basic needs an answer in kind (RFC 6749 §5.2). */
export class AppNotAuthenticated extends OAuthError<'invalid_client'> {
  readonly usedBasic: boolean;

  constructor(reason: ReasonOf<'invalid_client'>, description: string, { usedBasic }: { usedBasic: boolean }) {
    super('invalid_client', reason, description);
    this.usedBasic = usedBasic;
  }
}

/** Told to the app by way of the user's browser, at an address that is known to be the app's. */
export class CallbackError extends Error {
  readonly callback: Callback;
  readonly refusal: OAuthError;

  constructor(callback: Callback, refusal: OAuthError) {
    super(refusal.message);
    this.callback = callback;
    this.refusal = refusal;
  }
}

/** The app or its address cannot be trusted: shown on a page, and never a redirect (RFC 6749 §3.1.2.4). */
export class UntrustedRequest extends Error {
  readonly remedy: string;

  constructor(description: string, remedy: string) {
    super(description);
    this.remedy = remedy;
  }
}

interface Refusal<Code extends ErrorCode> {
  status: number;
  code: Code;
  reason: ReasonOf<Code>;
  description: string;
  /** The parameters of `WWW-Authenticate: Bearer`; without them the header is left out. */
  challenge?: Record<string, string>;
}

/** A refusal to any other program: who calls the business API (RFC 6750 §3), or sends what cannot be read. */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly refusal: Refusal<Code>;

  constructor(refusal: Refusal<Code>) {
    super(refusal.description);
    this.refusal = refusal;
  }
}

/** Where an authorize request is answered. */
export interface Callback {
  redirectUri: string;
  /** Still percent-encoded as it came, so that the app gets back the very same bytes. */
  state: string | undefined;
}

/** RFC 6749 §5.2 allows printable ASCII without quote and backslash; what a stranger sent may hold anything. */
export function inErrorCharacters(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x5b\x5d-\x7e]/g, '?');
}
