import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { listMemberships } from '../../accounts/memberships.ts';
import { listSolelyOwned } from '../../accounts/ownership.ts';
import { countSessions } from '../../accounts/sessions.ts';
import { auditedUser } from '../../accounts/user-acts.ts';
import { findUser, lockPlatformAdmins, markUserEnabled, searchUsers, type User } from '../../accounts/users.ts';
import { recordAudit } from '../../audit/acts.ts';
import { countAffected } from '../../grants/impact.ts';
import { disableUserAndTell } from '../../grants/suspension.ts';
import { FormError } from '../../lib/errors.ts';
import type { Database } from '../../storage/storage.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, type Problem, text, tryForm } from '../forms.ts';
import { PAGE_SIZE, readListing, takePage } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, requireSession } from '../session.ts';
import { longList, sendPlatformPage } from './page.ts';
import { findReason, reasonDetail } from './reasons.ts';
import { disableBody, userBody, userRow } from './user-views.ts';

const PATH = '/platform/users';
type ForUser = { Params: { id: string }; Body: Form | undefined };

/** Every user. */
export function mountUsers(host: FastifyInstance, deps: WebDeps): void {
  for (const mount of [mountList, mountUser, mountSwitches]) mount(host, deps);
}

function mountList(host: FastifyInstance, deps: WebDeps): void {
  host.get(PATH, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const listing = { ...readListing(request.query), path: PATH };
    const { shown, next } = takePage(await searchUsers(deps.storage.durable, { ...listing, limit: PAGE_SIZE + 1 }));
    const title = 'Users';
    const body = longList({ ...listing, title, label: 'Search by name, email or id', rows: shown.map(userRow), next });
    return sendPlatformPage(reply, deps, { context, title, body });
  });
}

function mountUser(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  host.get<ForUser>(`${PATH}/:id`, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const user = await requireUser(storage.durable, request.params.id);
    const memberships = await listMemberships(storage.durable, user.id);
    const isYou = user.id === context.user.id;
    const reason = user.disabledAt === null ? undefined : await findReason(storage.durable, user.id, 'user.disabled');
    const body = userBody(user, { ...(await affected(deps, user)), memberships, isYou, reason, csrf: context.csrf });
    return sendPlatformPage(reply, deps, { context, title: user.name, body });
  });

  host.get<ForUser>(`${PATH}/:id/disable`, access('platform_admin'), async (request, reply) => {
    const user = await requireUser(storage.durable, request.params.id);
    if (user.disabledAt !== null) return reply.redirect(`${PATH}/${user.id}`, 303);
    return askToDisable(deps, request, reply, user);
  });

  host.post<ForUser>(`${PATH}/:id/enable`, access('platform_admin'), async (request, reply) => {
    const user = await storage.transaction(async (db) => {
      const found = await requireUser(db, request.params.id);
      const act = {
        action: 'user.enabled',
        actor: actorOf(request),
        businessId: null,
        subject: auditedUser(found),
      } as const;
      if (await markUserEnabled(db, found.id)) await recordAudit(db, act, clock());
      return found;
    });
    return redirectWithFlash(reply, `${PATH}/${user.id}`, 'user_enabled');
  });
}

function mountSwitches(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  host.post<ForUser>(`${PATH}/:id/disable`, access('platform_admin'), async (request, reply) => {
    const user = await requireUser(storage.durable, request.params.id);
    const disable = async () => {
      const detail = reasonDetail(request.body);
      await storage.transaction(async (db) => {
        await refuseToLockOut(db, request, user);
        if (!(await disableUserAndTell(db, user, clock()))) return;
        const subject = auditedUser(user);
        const act = { action: 'user.disabled', actor: actorOf(request), businessId: null, subject, detail } as const;
        await recordAudit(db, act, clock());
      });
      return redirectWithFlash(reply, `${PATH}/${user.id}`, 'user_disabled');
    };
    return tryForm(disable, (problem) => askToDisable(deps, request, reply, user, problem));
  });
}

/** Someone must remain who can undo it. Of two admins who disable each other at the same moment, one comes too late. */
async function refuseToLockOut(db: Database, request: FastifyRequest, user: User): Promise<void> {
  const you = requireSession(request).user;
  const admins = await lockPlatformAdmins(db);
  if (!admins.includes(you.id)) throw notFound();
  if (user.id === you.id) throw new FormError('user', 'You cannot disable yourself. Another platform admin can.');
  if (admins.every((id) => id === user.id)) throw new FormError('user', 'This is the last platform admin.');
}

async function askToDisable(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  problem?: Problem,
): Promise<FastifyReply> {
  const context = await loadPageContext(deps, request);
  const solelyOwned = await listSolelyOwned(deps.storage.durable, user.id);
  const typed = text((request.body ?? {}) as Form, 'reason');
  const body = disableBody(user, { ...(await affected(deps, user)), solelyOwned, typed, csrf: context.csrf, problem });
  return sendPlatformPage(reply, deps, { context, title: `Disable ${user.name}`, body, status: problem ? 400 : 200 });
}

/** What stops if this user is disabled now. */
async function affected({ storage, clock }: WebDeps, user: User) {
  return {
    sessions: await countSessions(storage.durable, user.id, clock()),
    reach: await countAffected(storage.durable, { user_id: user.id }, clock()),
  };
}

async function requireUser(db: Database, id: string): Promise<User> {
  const user = await findUser(db, id);
  if (!user) throw notFound();
  return user;
}
