import { CONSENT_MUTATIONS } from './consent.ts';
import type { Mutation } from './mutation.ts';
import { REFRESH_MUTATIONS } from './refresh.ts';
import { REVOKE_MUTATIONS } from './revoke.ts';
import { TOKEN_MUTATIONS } from './token.ts';
import { WEBHOOK_MUTATIONS } from './webhooks.ts';

export const MUTATIONS: Mutation[] = [
  ...CONSENT_MUTATIONS,
  ...TOKEN_MUTATIONS,
  ...REFRESH_MUTATIONS,
  ...REVOKE_MUTATIONS,
  ...WEBHOOK_MUTATIONS,
];
