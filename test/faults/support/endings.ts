import { insertMembership } from '../../../src/accounts/memberships.ts';
import type { Storage } from '../../../src/storage/storage.ts';
import type { Tokens } from '../../support/client.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { type ApiClient, retryUntilAvailable, type TimedResponse } from './api-client.ts';
import { fetchCsrf, type Person, post, signIn } from './businesses.ts';

/** A member who has allowed an app, the owner of the business and app, and a platform admin. */
export interface Parties {
  storage: Storage;
  apiClient: ApiClient;
  app: RegisteredApp;
  businessId: string;
  member: Person;
  owner: Person;
  admin: Person;
}

/** A way to end or pause the member's grants. */
export interface Ending {
  what: string;
  end(parties: Parties, tokens: Tokens): Promise<TimedResponse | undefined>;
  /** The status of a second, redundant request. */
  tooLate?: number[];
  /** Makes the next round possible. */
  undo?(parties: Parties): Promise<unknown>;
  /** Whether it was only a pause, after which the tokens work again. */
  isPause?: boolean;
  /** Whether it ends one grant, and not all grants of the member. */
  endsOne?: boolean;
}

export const ENDINGS: Ending[] = [
  { what: 'revoked', end: ({ apiClient }, { refresh_token }) => apiClient.revoke(refresh_token), endsOne: true },
  {
    what: 'disconnected by the user',
    end: ({ member, app, businessId }) =>
      post(member, `/businesses/${businessId}/connected-apps/disconnect`, { app: app.id }),
  },
  {
    what: 'disconnected by an owner',
    end: ({ owner, app, businessId, member }) =>
      post(owner, `/businesses/${businessId}/connected-apps/${app.id}/${member.user.id}/disconnect`),
  },
  {
    what: 'disconnected for everyone in the business',
    end: ({ owner, app, businessId }) => post(owner, `/businesses/${businessId}/connected-apps/${app.id}/disconnect`),
  },
  {
    what: 'blocked in the business',
    end: ({ owner, app, businessId }) => post(owner, `/businesses/${businessId}/settings/apps/${app.id}/block`),
    undo: ({ owner, app, businessId }) =>
      retryUntilAvailable(() => post(owner, `/businesses/${businessId}/settings/apps/${app.id}/withdraw`)),
  },
  {
    what: 'ended with every token of the app',
    end: ({ owner, app, businessId }) => post(owner, `/businesses/${businessId}/developer/${app.id}/end-tokens`),
  },
  {
    what: 'stopped as the app is disabled',
    end: ({ owner, app, businessId }) => post(owner, `/businesses/${businessId}/developer/${app.id}/disable`),
    undo: ({ owner, app, businessId }) =>
      retryUntilAvailable(() => post(owner, `/businesses/${businessId}/developer/${app.id}/enable`)),
    isPause: true,
  },
  {
    what: 'stopped as the platform pauses the app',
    end: ({ admin, app }) => post(admin, `/platform/apps/${app.id}/pause`, { reason: 'A test.' }),
    undo: ({ admin, app }) => retryUntilAvailable(() => post(admin, `/platform/apps/${app.id}/resume`)),
    isPause: true,
  },
  {
    what: 'stopped as the user is disabled',
    end: ({ admin, member }) => post(admin, `/platform/users/${member.user.id}/disable`, { reason: 'A test.' }),
    async undo({ admin, member, storage }) {
      await retryUntilAvailable(() => post(admin, `/platform/users/${member.user.id}/enable`));
      Object.assign(member, await signIn(storage, member.user, member.browser));
      await fetchCsrf(member);
    },
    isPause: true,
  },
  {
    what: 'ended as the member is removed',
    end: ({ owner, member, businessId }) => post(owner, `/businesses/${businessId}/members/${member.user.id}/remove`),
    tooLate: [404],
    undo: ({ storage, member, businessId }) =>
      insertMembership(storage.durable, { userId: member.user.id, businessId, role: 'member' }, Date.now()),
  },
];
