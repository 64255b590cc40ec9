import type { Site } from '../accounts/webauthn.ts';
import type { Languages } from '../languages/languages.ts';
import type { Clock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Mailer } from '../mail/mails.ts';
import type { ExternalClients } from '../oauth/authorize/external-client.ts';
import type { RequestRecorder } from '../request-log/recorder.ts';
import type { Storage } from '../storage/storage.ts';

export interface WebDeps {
  storage: Storage;
  keys: Keyring;
  mailer: Mailer;
  clock: Clock;
  requestLog: RequestRecorder;
  /** The URL of the API host, and the `iss` of its responses. */
  issuer: string;
  /** The origin of these pages. */
  consentUrl: string;
  platformName: string;
  /** The languages of the hosted pages. */
  languages: Languages;
  /** False if the platform's data is served by an API of its own. */
  servesResources: boolean;
  /** Whether there is an MCP server for AI assistants. */
  servesMcp: boolean;
  /** How long entries of the audit log are kept, in milliseconds; undefined if they are never removed. */
  auditRetention: number | undefined;
  /** For development: whether webhooks may be sent to loopback addresses. */
  allowsLoopback: boolean;
  externalClients: ExternalClients;
  /** The hosts whose metadata documents are accepted as `client_id`. */
  documentHosts: 'any' | readonly string[];
  limits: {
    signInPerAccount: RateLimit;
    /** For known browsers, once the budget of an account is used up. */
    signInReserve: RateLimit;
    /** Wrong codes of an authenticator app, in a day. */
    codesPerAccount: RateLimit;
    signInPerAddress: RateLimit;
    /** Requests of one signed-in user in a minute. */
    perUser: RateLimit;
    /** Forms, sign-ins and silent authorizations of one user in a minute. */
    changesPerUser: RateLimit;
    /** Exports of one user's own data in an hour. */
    exportsPerUser: RateLimit;
    /** Mails that people request in an hour. */
    mailPerAddress: RateLimit;
    mailPerNetwork: RateLimit;
  };
}

/** The relying party that passkeys are bound to. */
export function siteOf({ keys, platformName, consentUrl }: WebDeps): Site {
  return { keys, name: platformName, origin: consentUrl };
}
