import type { FastifyInstance, FastifyRequest } from 'fastify';
import { spendChallenge } from '../../accounts/challenges.ts';
import { deletePasskey, insertPasskey, listPasskeys } from '../../accounts/passkeys.ts';
import { resumeSession } from '../../accounts/sessions.ts';
import { lockUser } from '../../accounts/users.ts';
import { registrationOptions, verifyRegistration } from '../../accounts/webauthn.ts';
import { type Action, recordAudit } from '../../audit/acts.ts';
import { FormError } from '../../lib/errors.ts';
import { readName } from '../../lib/names.ts';
import { hashSecret } from '../../lib/secrets.ts';
import type { Database } from '../../storage/storage.ts';
import { access } from '../access.ts';
import { siteOf, type WebDeps } from '../deps.ts';
import { notFound, sessionExpired } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, text, tryForm } from '../forms.ts';
import { actorOf, requireSession } from '../session.ts';
import { ACCOUNT, showAccount } from './account-page.ts';
import { mayAddPasskey, PASSKEYS } from './passkey-section.ts';

type Posted = FastifyRequest<{ Body: Form }>;

/** Passkeys of the signed-in user. */
export function mountPasskeys(host: FastifyInstance, deps: WebDeps): void {
  host.post<{ Body: Form }>(`${PASSKEYS}/options`, access('signed_in'), async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return tryForm(
      async () => reply.send(await askForPasskey(deps, request)),
      ({ message }) => reply.code(400).send({ problem: message }),
    );
  });

  host.post<{ Body: Form }>(PASSKEYS, access('signed_in'), async (request, reply) => {
    const add = async () => {
      await keepPasskey(deps, request);
      return redirectWithFlash(reply, ACCOUNT, 'passkey_added');
    };
    return tryForm(add, (problem) => showAccount(deps, request, reply, problem));
  });

  host.post<{ Params: { id: string }; Body: Form }>(
    `${PASSKEYS}/:id/remove`,
    access('signed_in'),
    async (request, reply) => {
      await dropPasskey(deps, request, request.params.id);
      return redirectWithFlash(reply, ACCOUNT, 'passkey_removed');
    },
  );
}

/** What is wrong with the name is said now, before the authenticator has made a key for it. */
async function askForPasskey(deps: WebDeps, request: Posted) {
  const session = requireSession(request);
  if (!mayAddPasskey(session, deps.clock())) {
    throw new FormError('passkey', 'Your last sign-in was too long ago. Reload the page, and sign in again.');
  }
  readName('passkey_name', text(request.body, 'passkey_name'));
  const known = await listPasskeys(deps.storage.durable, session.user.id);
  const asked = { user: session.user, bearer: hashSecret(session.id), known };
  return registrationOptions(siteOf(deps), asked, deps.clock());
}

/** That the sign-in was recent was asked with the challenge, and only this session has the challenge. */
async function keepPasskey(deps: WebDeps, request: Posted): Promise<void> {
  const { storage, clock } = deps;
  const { id, user } = requireSession(request);
  const answer = { answer: text(request.body, 'credential'), bearer: hashSecret(id) };
  const made = await verifyRegistration(siteOf(deps), answer, clock());
  if (!made) throw notAdded();
  const { credential, challenge } = made;
  await storage.transaction(async (db) => {
    if (!(await spendChallenge(db, challenge))) throw notAdded();
    // Locks the user, so that a password reset that came first has ended this session by now.
    await lockUser(db, user.id);
    if (!(await resumeSession(db, id, clock()))) throw sessionExpired(ACCOUNT);
    const name = text(request.body, 'passkey_name');
    const passkey = await insertPasskey(db, { userId: user.id, name, credential }, clock());
    if (!passkey) throw notAdded();
    await record(db, { action: 'passkey.added', request, passkey }, clock());
  });
}

function notAdded(): FormError {
  return new FormError('passkey', 'This passkey could not be added. Try again, perhaps with another device.');
}

async function dropPasskey({ storage, clock }: WebDeps, request: Posted, id: string): Promise<void> {
  const { user } = requireSession(request);
  await storage.transaction(async (db) => {
    const passkey = await deletePasskey(db, user.id, id);
    if (!passkey) throw notFound();
    await record(db, { action: 'passkey.removed', request, passkey }, clock());
  });
}

interface PasskeyAct {
  action: Action;
  request: Posted;
  passkey: { id: string; name: string };
}

async function record(
  db: Database,
  { action, request, passkey: { id, name } }: PasskeyAct,
  now: number,
): Promise<void> {
  const subject = { kind: 'passkey', id, name } as const;
  await recordAudit(db, { action, actor: actorOf(request), businessId: null, subject }, now);
}
