import type { FastifyInstance, FastifyRequest } from 'fastify';
import { deleteOtherSession, deleteOtherSessions, insertSession } from '../../accounts/sessions.ts';
import { auditedUser } from '../../accounts/user-acts.ts';
import { authenticateUser, hashNewPassword, replacePasswordHash, updateName } from '../../accounts/users.ts';
import { recordAudit } from '../../audit/acts.ts';
import { FormError } from '../../lib/errors.ts';
import { describeUserAgent } from '../../lib/user-agents.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, text, tryForm } from '../forms.ts';
import { countAttempt, rememberBrowser } from '../known-browsers.ts';
import { actorOf, clientOf, requireSession, setSessionCookie } from '../session.ts';
import type { SignedIn } from '../sign-in.ts';
import { ACCOUNT, revealSession, showAccount } from './account-page.ts';

type Posted = FastifyRequest<{ Body: Form }>;

export function mountAccount(host: FastifyInstance, deps: WebDeps): void {
  host.get(ACCOUNT, access('signed_in'), async (request, reply) => showAccount(deps, request, reply));

  host.post<{ Body: Form }>(`${ACCOUNT}/name`, access('signed_in'), async (request, reply) => {
    const change = async () => {
      await changeName(deps, request);
      return redirectWithFlash(reply, ACCOUNT, 'name_changed');
    };
    return tryForm(change, (problem) => showAccount(deps, request, reply, problem));
  });

  host.post<{ Body: Form }>(`${ACCOUNT}/password`, access('signed_in'), async (request, reply) => {
    const change = async () => {
      const signedIn = await changePassword(deps, request);
      setSessionCookie(reply, signedIn.session);
      rememberBrowser(deps, reply, signedIn);
      return redirectWithFlash(reply, ACCOUNT, 'password_changed');
    };
    return tryForm(change, (problem) => showAccount(deps, request, reply, problem));
  });

  host.post<{ Body: Form }>(`${ACCOUNT}/end-session`, access('signed_in'), async (request, reply) => {
    await endOne(deps, request);
    return redirectWithFlash(reply, ACCOUNT, 'session_ended');
  });

  host.post<{ Body: Form }>(`${ACCOUNT}/end-other-sessions`, access('signed_in'), async (request, reply) => {
    await endOthers(deps, request);
    return redirectWithFlash(reply, ACCOUNT, 'sessions_ended');
  });
}

async function changeName({ storage, clock }: WebDeps, request: Posted): Promise<void> {
  const { user } = requireSession(request);
  const name = text(request.body, 'name');
  await storage.transaction(async (db) => {
    if (!(await updateName(db, user.id, name))) return;
    const subject = auditedUser(user);
    const act = { action: 'user.renamed', actor: actorOf(request), businessId: null, subject } as const;
    await recordAudit(db, { ...act, detail: { to: name.trim().normalize('NFC') } }, clock());
  });
}

/** The current password is asked as at sign-in, and counted so; every session ends, and this browser gets a new one. */
async function changePassword(deps: WebDeps, request: Posted): Promise<SignedIn> {
  const { storage, clock } = deps;
  const { user } = requireSession(request);
  const passwordHash = await askPassword(deps, request);
  const hash = await hashNewPassword(user, text(request.body, 'password'));
  return storage.transaction(async (db) => {
    if (!(await replacePasswordHash(db, { userId: user.id, passwordHash, hash }))) throw wrongPassword();
    const session = await insertSession(db, { user, ...clientOf(request) }, clock());
    await deleteOtherSessions(db, session);
    const subject = auditedUser(user);
    await recordAudit(
      db,
      { action: 'user.password_changed', actor: actorOf(request), businessId: null, subject },
      clock(),
    );
    return { session, user, passwordHash: hash };
  });
}

async function askPassword(deps: WebDeps, request: Posted): Promise<string> {
  const { user } = requireSession(request);
  const counted = await countAttempt(deps, request, user.email);
  const known = await authenticateUser(deps.storage.durable, user.email, text(request.body, 'current_password'));
  if (!known) throw wrongPassword();
  await counted.forget();
  return known.passwordHash;
}

function wrongPassword(): FormError {
  return new FormError('current_password', 'This is not your current password.');
}

async function endOne({ storage, keys, clock }: WebDeps, request: Posted): Promise<void> {
  const session = requireSession(request);
  const idHash = revealSession(keys, text(request.body, 'session'));
  await storage.transaction(async (db) => {
    const ended = idHash && (await deleteOtherSession(db, session, idHash));
    if (!ended) throw notFound();
    const subject = { kind: 'session', id: ended.idHash, name: describeUserAgent(ended.browser) } as const;
    await recordAudit(db, { action: 'session.ended', actor: actorOf(request), businessId: null, subject }, clock());
  });
}

async function endOthers({ storage, clock }: WebDeps, request: Posted): Promise<void> {
  const session = requireSession(request);
  const { user } = session;
  await storage.transaction(async (db) => {
    const ended = await deleteOtherSessions(db, session);
    if (ended === 0) return;
    const subject = auditedUser(user);
    const act = { action: 'session.others_ended', actor: actorOf(request), businessId: null, subject } as const;
    await recordAudit(db, { ...act, detail: { sessions: String(ended) } }, clock());
  });
}
