import type { FastifyInstance, FastifyRequest } from 'fastify';
import { spendChallenge } from '../accounts/challenges.ts';
import { findPasskey, type Passkey, usePasskey } from '../accounts/passkeys.ts';
import { recordFailedSignIn } from '../accounts/sign-in.ts';
import { findCredentials, findUser } from '../accounts/users.ts';
import { authenticationOptions, claimedCredential, verifyAuthentication } from '../accounts/webauthn.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { hashSecret } from '../lib/secrets.ts';
import { access } from './access.ts';
import { siteOf, type WebDeps } from './deps.ts';
import { type Form, text } from './forms.ts';
import { answerSignIn, renewSession, type SignedIn } from './sign-in.ts';

/** One sentence for whatever was wrong: nobody learns which passkeys there are. */
const REFUSAL = {
  field: 'passkey',
  message: 'This passkey did not sign you in. Try again, or use your password.',
};

/** Sign-in without a password. */
export function mountPasskeySignIn(host: FastifyInstance, deps: WebDeps): void {
  host.post('/sign-in/passkey/options', access('anyone'), async (request, reply) => {
    const options = await authenticationOptions(siteOf(deps), bearerOf(request), deps.clock());
    return reply.header('cache-control', 'no-store').send(options);
  });

  host.post<{ Body: Form }>('/sign-in/passkey', access('anyone'), (request, reply) => {
    const email = request.session?.user.email ?? '';
    return answerSignIn(deps, { request, reply, email, refusal: REFUSAL }, () =>
      signIn(deps, request, text(request.body, 'credential')),
    );
  });
}

/** Counted like a password, but for the account: which one it is, only a valid answer tells. */
async function signIn(deps: WebDeps, request: FastifyRequest, answer: string): Promise<SignedIn | undefined> {
  const { limits } = deps;
  await limits.signInPerAddress.count(networkOf(request.ip));
  const passkey = await findPasskey(deps.storage.durable, claimedCredential(answer) ?? '');
  const signedIn = passkey && (await renewByPasskey(deps, request, { answer, passkey }));
  if (signedIn) await limits.signInPerAddress.refund(networkOf(request.ip));
  else await recordFailure(deps, passkey, request.ip);
  return signedIn;
}

async function recordFailure({ storage, clock }: WebDeps, passkey: Passkey | undefined, address: string) {
  const user = passkey && (await findUser(storage.durable, passkey.userId));
  await storage.transaction((db) => recordFailedSignIn(db, { user, method: 'passkey', address }, clock()));
}

async function renewByPasskey(
  deps: WebDeps,
  request: FastifyRequest,
  { answer, passkey }: { answer: string; passkey: Passkey },
): Promise<SignedIn | undefined> {
  const { storage, clock, limits } = deps;
  const verified = await verifyAuthentication(siteOf(deps), { answer, passkey, bearer: bearerOf(request) }, clock());
  const authenticated = verified && (await findCredentials(storage.durable, passkey.userId));
  if (!authenticated) return undefined;
  await limits.changesPerUser.count(authenticated.user.id);
  return storage.transaction(async (db) => {
    if (!(await spendChallenge(db, verified.challenge))) return undefined;
    if (!(await usePasskey(db, passkey.id, verified.counter, clock()))) return undefined;
    return renewSession(db, request, { ...authenticated, means: 'passkey' }, clock());
  });
}

/** The browser that was asked, whoever may be signed in there. */
function bearerOf({ visitorId }: FastifyRequest): string {
  return hashSecret(visitorId);
}
