import { type Environment, readNumber } from './values.ts';

export interface Limits {
  /** Wrong passwords for one account, from anywhere, in 15 minutes. */
  signInPerAccount: number;
  /** Wrong passwords and passkeys, and rejected registrations, from one address in 15 minutes. */
  signInPerAddress: number;
  /** Token, revoke and introspect requests of one app in a minute. */
  perApp: number;
  /** Wrong client secrets from one network in a minute. */
  wrongSecrets: number;
  /** Business API requests under one grant in a minute. */
  perGrant: number;
  /** Requests of one signed-in user to the pages in a minute. */
  perUser: number;
  /** Forms that one user sends in a minute, and authorizations without a consent screen; also sign-ins. */
  changesPerUser: number;
  /** Exports of their own data by one user in an hour. */
  exportsPerUser: number;
  /** Client metadata documents that are fetched for one network in a minute; as many registrations. */
  externalClients: number;
}

export function readLimits(env: Environment): Limits {
  const read = (name: string, fallback: number) => readNumber(env, name, fallback, { min: 1, max: 1_000_000_000 });
  return {
    signInPerAccount: read('LIMIT_SIGN_IN_PER_ACCOUNT', 20),
    signInPerAddress: read('LIMIT_SIGN_IN_PER_ADDRESS', 300),
    perApp: read('LIMIT_PER_APP', 100_000),
    wrongSecrets: read('LIMIT_WRONG_SECRETS', 300),
    perGrant: read('LIMIT_PER_GRANT', 100_000),
    perUser: read('LIMIT_PER_USER', 1000),
    changesPerUser: read('LIMIT_CHANGES_PER_USER', 120),
    exportsPerUser: read('LIMIT_EXPORTS_PER_USER', 20),
    externalClients: read('LIMIT_EXTERNAL_CLIENTS', 60),
  };
}
