import { APP_FIELDS } from '../../support/app-pages.ts';
import type { Fields } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import type { RouteValues } from './route-values.ts';

export const VISITORS = ['owner', 'admin', 'member', 'outsider', 'platform', 'anonymous'] as const;
export type Visitor = (typeof VISITORS)[number];

/** The visitors with access to their own objects. */
export const GROUPS = {
  anyone: VISITORS,
  signedIn: ['owner', 'admin', 'member', 'outsider', 'platform'],
  members: ['owner', 'admin', 'member'],
  editors: ['owner', 'admin'],
  owners: ['owner'],
  platform: ['platform'],
} satisfies Record<string, readonly Visitor[]>;

/** One status, or one for each visitor; visitors without one have no access. */
type Status = number | Partial<Record<Visitor, number>>;

export interface Rule {
  who: keyof typeof GROUPS;
  /** The status for visitors with access. */
  GET?: Status;
  POST?: Status;
  /** Visitors who may change something, if fewer than may read. */
  changes?: keyof typeof GROUPS;
  /** A valid form. */
  fields?: (own: RouteValues) => Fields;
  /** The query. */
  query?: (own: RouteValues) => string;
  /** The status for objects of others, if not 404. */
  foreign?: { other: Status; unknown: Status; malformed: Status };
  /** The status of a form, if it differs from the page. */
  foreignForm?: Status;
  /** The status for visitors without access, if not 404. */
  rejected?: Partial<Record<Visitor, number>>;
  /** The status of a form, if it differs from the page. */
  refusedForm?: Partial<Record<Visitor, number>>;
  /** The platform has access to objects of every business. */
  isAll?: true;
  /** Visitors whose form changes nothing in the database. */
  unchangedFor?: readonly Visitor[];
  /** A precondition for the form to change something. */
  after?: string;
}

const ENDPOINT = { url: 'https://acme.example/hook', events: ['grant.created'] };

/** The pages about apps: those of a business, and those of the platform. */
function appRules(section: string, { reads, changes }: { reads: Rule['who']; changes: Rule['who'] }) {
  const app = `${section}/:id`;
  const isPlatforms = reads === 'platform';
  const endpoint = `${app}/endpoints/:endpoint`;
  const rules: Record<string, Rule> = {
    [section]: {
      who: reads,
      changes,
      GET: 200,
      POST: 200,
      fields: ({ appFormKey }) => ({ ...APP_FIELDS, form_key: appFormKey }),
      query: ({ app }) => `?after=${app}`,
      ...(isPlatforms && { foreign: { other: 409, unknown: 404, malformed: 404 } }),
    },
    [`${section}/new`]: { who: changes, GET: 200 },
    [app]: { who: reads, changes, GET: 200, POST: 303, fields: () => ({ ...APP_FIELDS, name: 'Renamed' }) },
    [`${app}/identity`]: { who: changes, GET: 200, POST: 303, fields: () => ({ publisher: 'Acme Inc' }) },
    // The form has no file. test/http/web/app-logo.test.ts sends some.
    [`${app}/logo`]: { who: changes, POST: 400, unchangedFor: VISITORS },
    [`${app}/logo/remove`]: { who: changes, POST: 303 },
    [`${app}/secrets`]: { who: changes, POST: 200, after: `${app}/secrets/:secret/remove` },
    [`${app}/secrets/:secret/remove`]: { who: changes, GET: 200, POST: 303, fields: () => ({ sure: 'yes' }) },
    [`${app}/require-pkce`]: { who: changes, POST: 303 },
    [`${app}/disable`]: { who: changes, GET: 200, POST: 303 },
    [`${app}/enable`]: { who: changes, POST: 303, after: `${app}/disable` },
    [`${app}/delete`]: { who: changes, GET: 200, POST: 303 },
    [`${app}/end-tokens`]: { who: changes, GET: 200, POST: 303 },
    [`${app}/requests`]: { who: reads, GET: 200, query: ({ business }) => `?business=${business}` },
    [`${app}/requests/:request`]: { who: reads, GET: 200 },
    [`${app}/connections`]: { who: reads, GET: 200 },
    [`${app}/endpoints`]: {
      who: changes,
      GET: 200,
      POST: 200,
      fields: ({ endpointFormKey }) => ({ ...ENDPOINT, form_key: endpointFormKey }),
    },
    [`${app}/endpoints/new`]: { who: changes, GET: 200 },
    [endpoint]: {
      who: changes,
      GET: 200,
      POST: 303,
      fields: () => ({ ...ENDPOINT, url: 'https://acme.example/moved' }),
    },
    [`${endpoint}/secret`]: {
      who: changes,
      POST: 200,
      fields: ({ secretFingerprint }) => ({ secret_fingerprint: secretFingerprint }),
    },
    [`${endpoint}/enable`]: { who: changes, POST: 303 },
    [`${endpoint}/disable`]: { who: changes, POST: 303, after: `${endpoint}/enable` },
    [`${endpoint}/remove`]: { who: changes, GET: 200, POST: 303 },
    [`${endpoint}/test`]: { who: changes, POST: 303, after: `${endpoint}/enable` },
    [`${endpoint}/deliveries/:delivery`]: { who: changes, GET: 200 },
    [`${endpoint}/deliveries/:delivery/resend`]: { who: changes, POST: 303 },
    [`${app}/try`]: {
      who: changes,
      GET: 200,
      POST: 200,
      fields: () => ({ scope: ['read:invoices'], redirect_uri: APP_FIELDS.redirect_uris }),
      unchangedFor: VISITORS,
    },
    [`${app}/try/return-address`]: { who: changes, POST: 303, fields: () => ({ change: 'add' }) },
    // The state of the playground is encrypted for its session: in another one, the page asks to start again.
    [`${app}/try/callback`]: {
      who: changes,
      POST: 400,
      fields: ({ playgroundState }) => ({ playground_state: playgroundState, pasted: '' }),
      unchangedFor: VISITORS,
    },
    [`${app}/try/:step`]: {
      who: changes,
      POST: 400,
      fields: ({ playgroundState }) => ({ playground_state: playgroundState }),
      unchangedFor: VISITORS,
    },
    [`${section}/try`]: {
      who: changes,
      GET: 400,
      query: ({ playgroundState }) => `?state=${playgroundState}&code=x`,
      ...(isPlatforms && { foreign: { other: 400, unknown: 400, malformed: 400 } }),
    },
  };
  return rules;
}

const TO_BUSINESS = { owner: 303, admin: 303, member: 303 };

/** `without` is the status for users of no business. */
function shortRules(page: string, without: number): Record<string, Rule> {
  const rule: Rule = { who: 'signedIn', GET: { ...TO_BUSINESS, outsider: without, platform: without } };
  return { [`/settings/${page}`]: rule, [`/settings/${page}/*`]: rule };
}

/** The access rules of every page. */
export const RULES: Record<string, Rule> = {
  '/': { who: 'anyone', GET: 303 },
  '/healthz': { who: 'anyone', GET: 200 },
  '/readyz': { who: 'anyone', GET: 200 },
  '/assets/*': { who: 'anyone', GET: 200 },
  '/assets/gatehouse.css': { who: 'anyone', GET: 200 },
  '/logos/:logo': { who: 'anyone', GET: 200, foreign: { other: 200, unknown: 404, malformed: 404 } },
  '/sign-in': {
    who: 'anyone',
    GET: 200,
    POST: 401,
    fields: ({ email }) => ({ email, password: 'not the password' }),
    foreign: { other: 401, unknown: 401, malformed: 401 },
    unchangedFor: VISITORS,
  },
  '/sign-in/passkey/options': { who: 'anyone', POST: 200, unchangedFor: VISITORS },
  '/sign-in/passkey': {
    who: 'anyone',
    POST: 401,
    fields: ({ credential }) => ({ credential: JSON.stringify({ id: credential, rawId: credential }) }),
    foreign: { other: 401, unknown: 401, malformed: 401 },
    unchangedFor: VISITORS,
  },
  // Without a password that was right, in this browser, there is no second step.
  '/sign-in/second-step': {
    who: 'anyone',
    GET: 303,
    POST: 303,
    fields: () => ({ code: '123456' }),
    unchangedFor: VISITORS,
  },
  '/sign-out': { who: 'anyone', GET: 200, POST: 303, unchangedFor: ['anonymous'] },
  '/consent': {
    who: 'anyone',
    // A user who is not a member is redirected to the app with an error, and a visitor without a session to sign-in.
    GET: { owner: 200, admin: 200, member: 200, outsider: 303, platform: 303, anonymous: 303 },
    query: ({ consentQuery }) => consentQuery,
    foreign: { other: 303, unknown: 400, malformed: 400 },
    POST: { owner: 303, admin: 303, member: 303 },
    fields: ({ consentState }) => ({ consent_state: consentState, decision: 'allow' }),
    // A consent that was signed for another session is rejected.
    foreignForm: 403,
    rejected: { outsider: 403, platform: 403 },
  },
  '/invitation/:token': {
    who: 'anyone',
    GET: 200,
    // The invitation is for an address that no visitor has.
    POST: { owner: 400, admin: 400, member: 400, outsider: 400, platform: 400, anonymous: 303 },
    foreignForm: { anonymous: 303 },
    unchangedFor: VISITORS,
  },
  // Mail is off on this server.
  '/invitation/:token/mail': { who: 'anyone', POST: 404, unchangedFor: VISITORS },
  '/invitation/:token/account': {
    who: 'anyone',
    POST: 303,
    fields: () => ({ name: 'New', password: PASSWORD }),
    // Signed-in users are redirected to the page of the invitation, valid or not.
    foreignForm: { owner: 303, admin: 303, member: 303, outsider: 303, platform: 303 },
    unchangedFor: ['owner', 'admin', 'member', 'outsider', 'platform'],
  },
  // Mail is off on this server.
  '/password': { who: 'anyone', GET: 200, POST: 404, fields: ({ email }) => ({ email }), unchangedFor: VISITORS },
  '/password/:token': {
    who: 'anyone',
    GET: 200,
    POST: 303,
    fields: () => ({ password: 'a whole new password', end_grants: 'yes' }),
  },
  '/businesses/:business/connected-apps': {
    who: 'members',
    GET: 200,
    query: ({ app, user }) => `?after=${app}.${user}`,
  },
  '/businesses/:business/connected-apps/assistant': { who: 'members', GET: 200 },
  '/businesses/:business/connected-apps/disconnect': {
    who: 'members',
    POST: 303,
    fields: ({ app }) => ({ app }),
  },
  '/businesses/:business/connected-apps/:app/:user': { who: 'members', GET: 200 },
  '/businesses/:business/connected-apps/:app/:user/disconnect': { who: 'owners', GET: 200, POST: 303 },
  '/businesses/:business/connected-apps/:app/:user/authority': {
    who: 'owners',
    GET: 200,
    POST: 303,
    fields: ({ owner }) => ({ to: owner, scopes: 'read:invoices write:invoices read:contacts' }),
  },
  // Nobody was asked. test/http/web/handovers.test.ts shows who may answer.
  '/businesses/:business/connected-apps/:app/:user/authority/answer': {
    who: 'editors',
    POST: 404,
    fields: () => ({ answer: 'accept' }),
    unchangedFor: VISITORS,
  },
  '/businesses/:business/connected-apps/:app/:user/permissions': {
    who: 'owners',
    GET: 200,
    POST: 303,
    fields: () => ({ shown: ['read:invoices'], scope: ['read:invoices'] }),
    unchangedFor: VISITORS,
  },
  '/businesses/:business/connected-apps/:app/disconnect': { who: 'owners', GET: 200, POST: 303 },
  '/businesses/:business/members': { who: 'members', GET: 200, query: ({ user }) => `?after=${user}` },
  '/businesses/:business/members/invite': {
    who: 'owners',
    GET: 200,
    POST: 200,
    fields: ({ invitationFormKey }) => ({
      form_key: invitationFormKey,
      role: 'member',
      email: 'guest@example.com',
    }),
  },
  '/businesses/:business/members/invitations': {
    who: 'owners',
    GET: 200,
    query: ({ invitation }) => `?after=${invitation}`,
  },
  '/businesses/:business/members/invitations/:id/withdraw': { who: 'owners', POST: 303 },
  '/businesses/:business/members/:user': { who: 'owners', GET: 200 },
  '/businesses/:business/members/:user/role': { who: 'owners', POST: 303, fields: () => ({ role: 'admin' }) },
  '/businesses/:business/members/:user/password-link': { who: 'owners', POST: 200 },
  '/businesses/:business/members/:user/remove': { who: 'owners', GET: 200, POST: 303 },
  '/businesses/:business/settings': { who: 'owners', GET: 200 },
  '/businesses/:business/settings/name': { who: 'owners', POST: 303, fields: () => ({ name: 'Renamed' }) },
  '/businesses/:business/settings/two-step': {
    who: 'owners',
    POST: 303,
    fields: () => ({ required: 'no' }),
    unchangedFor: VISITORS,
  },
  '/businesses/:business/settings/apps': { who: 'owners', GET: 200 },
  '/businesses/:business/settings/apps/staff-and-money': {
    who: 'owners',
    POST: 303,
    fields: () => ({ members_may: 'no' }),
  },
  '/businesses/:business/settings/apps/policy': {
    who: 'owners',
    POST: 303,
    fields: () => ({ who: 'anyone', reserves: 'no' }),
  },
  '/businesses/:business/settings/apps/:app/requests/:user': {
    who: 'owners',
    POST: 303,
    fields: () => ({ decision: 'approve_person', scopes: 'read:invoices' }),
  },
  '/businesses/:business/settings/apps/:app/requests/:user/withdraw': {
    who: 'owners',
    POST: 303,
  },
  '/businesses/:business/settings/apps/:app/block': {
    who: 'owners',
    GET: 200,
    POST: 303,
  },
  '/businesses/:business/settings/apps/:app/withdraw': {
    who: 'owners',
    POST: 303,
    after: '/businesses/:business/settings/apps/:app/block',
  },
  '/businesses/:business/audit-log': {
    who: 'owners',
    GET: 200,
    query: ({ auditEntry, user }) => `?after=${auditEntry}&by=${user}`,
  },
  '/businesses/:business/audit-log.csv': {
    who: 'owners',
    GET: 200,
    query: ({ auditEntry, user }) => `?after=${auditEntry}&by=${user}`,
  },
  ...appRules('/businesses/:business/developer', { reads: 'members', changes: 'editors' }),
  // Addresses without a business lead to the one that the user chose last.
  ...shortRules('connected-apps', 200),
  ...shortRules('members', 200),
  ...shortRules('business', 404),
  ...shortRules('audit-log', 404),
  ...shortRules('audit-log.csv', 404),
  '/settings/developer': { who: 'signedIn', GET: { ...TO_BUSINESS, outsider: 403, platform: 403 } },
  '/settings/developer/*': { who: 'signedIn', GET: { ...TO_BUSINESS, outsider: 404, platform: 404 } },
  '/settings/account': { who: 'signedIn', GET: 200 },
  '/settings/export': { who: 'signedIn', GET: 200 },
  '/settings/delete-account': {
    who: 'signedIn',
    GET: 200,
    POST: 400,
    fields: () => ({ current_password: 'not the password' }),
    unchangedFor: VISITORS,
  },
  '/settings/end-connections': { who: 'signedIn', GET: 200, POST: 303 },
  '/settings/address': { who: 'signedIn', GET: 200, POST: 404, unchangedFor: VISITORS },
  '/settings/verify-address': { who: 'signedIn', POST: 404, unchangedFor: VISITORS },
  '/settings/address/:token': { who: 'signedIn', GET: 404, POST: 404, unchangedFor: VISITORS },
  '/settings/account/language': { who: 'signedIn', POST: 303, fields: () => ({ language: 'de' }) },
  '/settings/account/name': { who: 'signedIn', POST: 303, fields: () => ({ name: 'Someone' }) },
  '/settings/account/password': {
    who: 'signedIn',
    POST: 400,
    fields: () => ({ current_password: 'not the password', password: 'a whole new password' }),
    unchangedFor: VISITORS,
  },
  '/settings/account/end-session': { who: 'signedIn', POST: 303, fields: ({ session }) => ({ session }) },
  '/settings/account/end-other-sessions': { who: 'signedIn', POST: 303 },
  '/settings/account/passkeys/options': {
    who: 'signedIn',
    POST: 200,
    fields: () => ({ passkey_name: 'Phone' }),
    unchangedFor: VISITORS,
  },
  '/settings/account/passkeys': {
    who: 'signedIn',
    POST: 400,
    fields: ({ credential }) => ({ passkey_name: 'Phone', credential: JSON.stringify({ id: credential }) }),
    foreign: { other: 400, unknown: 400, malformed: 400 },
    unchangedFor: VISITORS,
  },
  '/settings/account/passkeys/:id/remove': { who: 'signedIn', GET: 200, POST: 303 },
  // The set-up is signed for its session.
  '/settings/two-step': {
    who: 'signedIn',
    GET: 200,
    POST: 404,
    fields: () => ({ code: '123456' }),
    unchangedFor: VISITORS,
  },
  // No visitor has an authenticator app.
  '/settings/two-step/recovery-codes': { who: 'signedIn', GET: 404, POST: 404, unchangedFor: VISITORS },
  '/settings/two-step/remove': { who: 'signedIn', GET: 404, POST: 404, unchangedFor: VISITORS },
  '/settings/two-step/passkey-options': { who: 'signedIn', POST: 200, unchangedFor: VISITORS },
  '/settings/current-business': { who: 'members', POST: 303, fields: ({ business }) => ({ business }) },
  '/platform': { who: 'platform', GET: 303 },
  '/platform/apps': { who: 'platform', GET: 200 },
  '/platform/apps/:id': { who: 'platform', GET: 200, isAll: true },
  '/platform/apps/:id/verify': {
    who: 'platform',
    POST: 303,
    isAll: true,
    fields: ({ fingerprint }) => ({ seen: fingerprint }),
  },
  '/platform/apps/:id/unverify': { who: 'platform', POST: 303, isAll: true, after: '/platform/apps/:id/verify' },
  '/platform/apps/:id/pause': { who: 'platform', GET: 200, POST: 303, isAll: true },
  '/platform/apps/:id/resume': { who: 'platform', POST: 303, isAll: true, after: '/platform/apps/:id/pause' },
  '/platform/apps/:id/end-tokens': { who: 'platform', GET: 200, POST: 303, isAll: true },
  ...appRules('/platform/developer/apps', { reads: 'platform', changes: 'platform' }),
  '/platform/businesses': { who: 'platform', GET: 200 },
  '/platform/businesses/:id': { who: 'platform', GET: 200, isAll: true },
  '/platform/users': { who: 'platform', GET: 200 },
  '/platform/users/:id': { who: 'platform', GET: 200, isAll: true },
  '/platform/users/:id/disable': { who: 'platform', GET: 200, POST: 303, isAll: true },
  '/platform/users/:id/end-connections': { who: 'platform', GET: 200, POST: 303, isAll: true },
  '/platform/users/:id/enable': { who: 'platform', POST: 303, isAll: true, after: '/platform/users/:id/disable' },
  '/platform/users/:id/password-link': { who: 'platform', POST: 200, isAll: true },
  '/platform/users/:id/verify-email': { who: 'platform', POST: 303, isAll: true },
  '/platform/settings': { who: 'platform', GET: 200 },
  // A requirement for everyone would change what the other visitors may open.
  '/platform/settings/two-step': {
    who: 'platform',
    POST: 303,
    fields: () => ({ required: 'no' }),
    unchangedFor: VISITORS,
  },
  // The value does not change, so nothing is recorded: any other choice would change what the other visitors may allow.
  '/platform/settings/apps': {
    who: 'platform',
    POST: 303,
    fields: () => ({ who: 'anyone' }),
    unchangedFor: VISITORS,
  },
  '/platform/settings/connection-ends': {
    who: 'platform',
    POST: 303,
    fields: () => ({ ends: 'free' }),
    unchangedFor: VISITORS,
  },
  '/platform/audit-log': { who: 'platform', GET: 200 },
  '/platform/audit-log.csv': { who: 'platform', GET: 200 },
};

/** The expected status for a visitor's own objects; undefined without access. */
export function ownStatus(rule: Rule, visitor: Visitor, method: 'GET' | 'POST'): number | undefined {
  const group: readonly Visitor[] = GROUPS[method === 'POST' ? (rule.changes ?? rule.who) : rule.who];
  return group.includes(visitor) ? statusFor(rule[method], visitor) : undefined;
}

export function statusFor(status: Status | undefined, visitor: Visitor): number | undefined {
  return typeof status === 'object' ? status[visitor] : status;
}
