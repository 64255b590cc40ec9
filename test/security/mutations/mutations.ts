import { ACCOUNT_MUTATIONS } from './accounts.ts';
import { AGENT_MUTATIONS } from './agents.ts';
import { API_MUTATIONS } from './api.ts';
import { AUTHORIZE_MUTATIONS } from './authorize.ts';
import { BUSINESS_MUTATIONS } from './businesses.ts';
import { CONSENT_MUTATIONS } from './consent.ts';
import { CROSS_CUTTING_MUTATIONS } from './cross-cutting.ts';
import { DASHBOARD_MUTATIONS } from './dashboard.ts';
import type { Mutation } from './mutation.ts';
import { REFRESH_MUTATIONS } from './refresh.ts';
import { REVOKE_MUTATIONS } from './revoke.ts';
import { SIGN_IN_MUTATIONS } from './sign-in.ts';
import { TOKEN_MUTATIONS } from './token.ts';
import { WEBHOOK_MUTATIONS } from './webhooks.ts';

export const MUTATIONS: Mutation[] = [
  ...AUTHORIZE_MUTATIONS,
  ...SIGN_IN_MUTATIONS,
  ...ACCOUNT_MUTATIONS,
  ...CONSENT_MUTATIONS,
  ...BUSINESS_MUTATIONS,
  ...TOKEN_MUTATIONS,
  ...REFRESH_MUTATIONS,
  ...REVOKE_MUTATIONS,
  ...API_MUTATIONS,
  ...DASHBOARD_MUTATIONS,
  ...WEBHOOK_MUTATIONS,
  ...AGENT_MUTATIONS,
  ...CROSS_CUTTING_MUTATIONS,
];
