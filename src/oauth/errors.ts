import type { App } from '../apps/apps.ts';
import { ApiError, type ErrorCode, type ReasonOf } from '../http/errors.ts';
import { en, type Texts } from '../languages/en.ts';

/** RFC 6749 §4.1.2.1 and §5.2, RFC 8707 §2, RFC 7591 §3.2.2, and the two that `prompt=none` adds (OpenID Connect Core §3.1.2.6). */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'access_denied'
  | 'login_required'
  | 'temporarily_unavailable'
  | 'consent_required';

/** An error for the developer of an app: the code is the RFC's, the reason is ours, the description says what to do. */
export class OAuthError<Code extends OAuthErrorCode = OAuthErrorCode> extends ApiError<Code> {
  constructor(code: Code, reason: ReasonOf<Code>, description: string) {
    super({ status: 400, code, reason, description });
  }
}

/** The client's credentials are missing or wrong. If it used HTTP Basic, the response names that scheme (RFC 6749 §5.2). */
export class InvalidClient extends ApiError<'invalid_client'> {
  constructor(reason: ReasonOf<'invalid_client'>, description: string, { usedBasic }: { usedBasic: boolean }) {
    const headers = usedBasic ? { 'www-authenticate': 'Basic realm="Gatehouse"' } : undefined;
    super({ status: 401, code: 'invalid_client', reason, description, headers });
  }
}

/** A parameter of an authorize request is missing or not accepted. */
export class ParameterError extends OAuthError {
  readonly parameter: string;

  constructor(parameter: string, { code, reason, message }: OAuthError) {
    super(code, reason, message);
    this.parameter = parameter;
  }
}

/** Sent to the app through the user's browser, at a redirect URI that is registered for the app. */
export class CallbackError extends Error {
  readonly callback: Callback;
  readonly error: OAuthError;
  /** If a parameter of the request was rejected. */
  readonly rejected: RejectedParameter | undefined;

  constructor(callback: Callback, error: OAuthError, rejected?: RejectedParameter) {
    super(error.message);
    this.callback = callback;
    this.error = error;
    this.rejected = rejected;
  }
}

/** For the log of the app. */
export interface RejectedParameter {
  app: App;
  parameter: string;
}

/** The app or its redirect URI is not valid: the error is shown on a page and never redirected (RFC 6749 §3.1.2.4). */
export class UntrustedRequest extends Error {
  readonly textIn: UntrustedSentence;
  readonly remedy: string;
  /** If a parameter of a known app was rejected. */
  readonly rejected: (RejectedParameter & { reason: ReasonOf<ErrorCode> }) | undefined;

  constructor(textIn: UntrustedSentence, remedy: string, rejected?: UntrustedRequest['rejected']) {
    super(textIn(en.untrusted));
    this.textIn = textIn;
    this.remedy = remedy;
    this.rejected = rejected;
  }
}

type UntrustedSentence = (untrusted: Texts['untrusted']) => string;

/** Where the response to an authorize request goes. */
export interface Callback {
  redirectUri: string;
  /** Percent-encoded as the app sent it, so that it gets the same bytes back. */
  state: string | undefined;
}

export function missingField(name: string): OAuthError {
  return new OAuthError('invalid_request', 'field_missing', `${name} is missing.`);
}
