import type { FastifyInstance } from 'fastify';
import { findMembership } from '../accounts/memberships.ts';
import { setCurrentBusiness } from '../accounts/users.ts';
import { isId } from '../lib/ids.ts';
import { access, addAccessHooks } from './access.ts';
import { mountDeveloper, mountPlatformApps } from './apps/routes.ts';
import { mountAuditLog, mountPlatformAuditLog } from './audit-log.ts';
import { pathAfterSwitch } from './business-address.ts';
import { mountConsent } from './consent/routes.ts';
import type { WebDeps } from './deps.ts';
import { notFound } from './errors.ts';
import { mountForgottenPassword } from './forgotten-password.ts';
import { type Form, text } from './forms.ts';
import { mountInvitation } from './invitation.ts';
import { mountPasswordLink } from './password-link.ts';
import { mountAllApps } from './platform/apps.ts';
import { mountBusinesses } from './platform/businesses.ts';
import { mountPlatformSettings } from './platform/settings.ts';
import { mountUsers } from './platform/users.ts';
import { readReturnTo } from './return-to.ts';
import { addSessionHooks, requireSession } from './session.ts';
import { mountAccount } from './settings/account.ts';
import { mountAddress } from './settings/address.ts';
import { mountAppRules } from './settings/app-rules.ts';
import { mountBusinessSettings } from './settings/business.ts';
import { mountConnectAssistant } from './settings/connect-assistant.ts';
import { mountConnectedApps } from './settings/connected-apps.ts';
import { mountEndOfConnections } from './settings/end-connections.ts';
import { mountInvitations } from './settings/invitations.ts';
import { mountMember } from './settings/member.ts';
import { mountMembers } from './settings/members.ts';
import { mountOwnData } from './settings/own-data.ts';
import { mountShortAddresses } from './short-addresses.ts';
import { mountSignIn, mountSignOut } from './sign-in.ts';

/** Pages that only some users may see respond 404 to everyone else, whatever the method. */
export function isHiddenPath(path: string): boolean {
  return /^\/(?:platform(?:\/|$)|businesses\/|settings\/(?:audit-log|business|members\/|developer\/))/.test(path);
}

/** Every page of the web host. */
export function mountWeb(host: FastifyInstance, deps: WebDeps): void {
  addSessionHooks(host, deps);
  addAccessHooks(host, deps);
  host.get('/', access('anyone'), async (_, reply) => reply.redirect('/settings/connected-apps', 303));
  for (const mount of [
    mountSignIn,
    mountSignOut,
    mountConsent,
    mountInvitation,
    mountForgottenPassword,
    mountPasswordLink,
    mountConnectedApps,
    mountConnectAssistant,
    mountEndOfConnections,
    mountMembers,
    mountInvitations,
    mountMember,
    mountBusinessSettings,
    mountAppRules,
    mountAuditLog,
    mountDeveloper,
    mountShortAddresses,
    mountAccount,
    mountAddress,
    mountOwnData,
    mountCurrentBusiness,
    mountPlatform,
  ]) {
    mount(host, deps);
  }
}

/** The access check hides these pages from everyone but platform admins. */
function mountPlatform(host: FastifyInstance, deps: WebDeps): void {
  host.get('/platform', access('platform_admin'), async (_, reply) => reply.redirect('/platform/apps', 303));
  for (const mount of [
    mountAllApps,
    mountPlatformApps,
    mountBusinesses,
    mountUsers,
    mountPlatformSettings,
    mountPlatformAuditLog,
  ]) {
    mount(host, deps);
  }
}

function mountCurrentBusiness(host: FastifyInstance, { storage, consentUrl }: WebDeps): void {
  host.post<{ Body: Form }>('/settings/current-business', access('signed_in'), async (request, reply) => {
    const { user } = requireSession(request);
    const businessId = text(request.body, 'business');
    const membership = isId(businessId) && (await findMembership(storage.durable, user.id, businessId));
    if (!membership) throw notFound();
    await setCurrentBusiness(storage.durable, user.id, membership.businessId);
    return reply.redirect(pathAfterSwitch(readReturnTo(request.body.return_to, consentUrl), membership), 303);
  });
}
