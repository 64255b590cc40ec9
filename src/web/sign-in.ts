import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { deleteSession, insertSession, type Session } from '../accounts/sessions.ts';
import { recordFailedSignIn } from '../accounts/sign-in.ts';
import { userActor } from '../accounts/user-acts.ts';
import { authenticateUser, type Credentials, findUserByEmail, markSignedIn } from '../accounts/users.ts';
import { recordAudit } from '../audit/acts.ts';
import { Overloaded, TooManyRequests } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { hashSecret } from '../lib/secrets.ts';
import { describeUserAgent } from '../lib/user-agents.ts';
import type { Database } from '../storage/storage.ts';
import { access } from './access.ts';
import type { WebDeps } from './deps.ts';
import { signInFlashMessage } from './flash.ts';
import { type Form, input, type Problem, postForm, text } from './forms.ts';
import { countAttempt, rememberBrowser } from './known-browsers.ts';
import { type Page, sendPage } from './layout.ts';
import { passkeyBox } from './passkey-box.ts';
import { type Destination, findDestination, readReturnTo } from './return-to.ts';
import { clientOf, setSessionCookie } from './session.ts';

interface SignInForm {
  csrf: string;
  returnTo: string;
  email: string;
  destination: Destination;
  /** Why someone is here. */
  done?: string | undefined;
  problem?: Problem;
}

export function mountSignIn(host: FastifyInstance, deps: WebDeps): void {
  // The form is shown even to someone with a session: a second sign-in is what prompt=login asks for.
  host.get<{ Querystring: Form }>('/sign-in', access('anyone'), async (request, reply) => {
    const returnTo = readReturnTo(request.query.return_to, deps.consentUrl);
    const email = request.session?.user.email ?? '';
    const destination = await findDestination(deps, returnTo);
    const form = { csrf: request.csrfToken, returnTo, email, destination, done: signInFlashMessage(request.query) };
    return sendPage(reply, signInPage(deps, form), destination);
  });

  host.post<{ Body: Form }>('/sign-in', access('anyone'), (request, reply) => {
    const [email, password] = [text(request.body, 'email'), text(request.body, 'password')];
    const refusal = { field: 'password', message: 'The email or the password is wrong.' };
    return answerSignIn(deps, { request, reply, email, refusal }, () => signIn(deps, request, email, password));
  });
}

interface Attempt {
  request: FastifyRequest<{ Body: Form }>;
  reply: FastifyReply;
  email: string;
  /** The same for whatever was wrong. */
  refusal: Problem;
}

/** To where the person was going, if they may; or else the form again, with what was typed. */
export async function answerSignIn(
  deps: WebDeps,
  { request, reply, email, refusal }: Attempt,
  attempt: () => Promise<SignedIn | undefined>,
): Promise<FastifyReply> {
  const returnTo = readReturnTo(request.body.return_to, deps.consentUrl);
  const refuse = async (status: number, message: string) => {
    const destination = await findDestination(deps, returnTo);
    const problem = { ...refusal, message };
    const form = { csrf: request.csrfToken, returnTo, email, destination, problem };
    return sendPage(reply, signInPage(deps, form), { status, ...destination });
  };
  try {
    const signedIn = await attempt();
    if (!signedIn) return refuse(401, refusal.message);
    setSessionCookie(reply, signedIn.session);
    rememberBrowser(deps, reply, signedIn);
    return reply.redirect(returnTo, 303);
  } catch (error) {
    if (!(error instanceof TooManyRequests || error instanceof Overloaded)) throw error;
    reply.header('retry-after', error.retryAfter);
    return refuse(error instanceof Overloaded ? 503 : 429, error.message);
  }
}

/** Each attempt is counted before it is looked at, by account and by address, and forgiven if it succeeds. */
async function signIn(deps: WebDeps, request: FastifyRequest, email: string, password: string) {
  const { storage, limits, clock } = deps;
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const counted = await countAttempt(deps, request, email);
  const authenticated = await authenticateUser(storage.durable, email, password).catch(async (error) => {
    // Nothing was tried, so nothing counts.
    if (error instanceof Overloaded) {
      await Promise.all([counted.giveBack(), limits.signInPerAddress.refund(network)]);
    }
    throw error;
  });
  if (authenticated) await limits.changesPerUser.count(authenticated.user.id);
  const signedIn =
    authenticated &&
    (await storage.transaction((db) => renewSession(db, request, { ...authenticated, means: 'password' }, clock())));
  if (!signedIn) {
    const user = await findUserByEmail(storage.durable, email);
    const failed = { user, method: 'password', address: request.ip } as const;
    await storage.transaction((db) => recordFailedSignIn(db, failed, clock()));
    return undefined;
  }
  await counted.forget();
  await limits.signInPerAddress.refund(network);
  return signedIn;
}

/** A session, with the password hash that was current when it began. */
export interface SignedIn extends Credentials {
  session: Session;
}

/** Signing in always makes a new session id, and the old one ends. */
export async function renewSession(
  db: Database,
  request: FastifyRequest,
  { user, passwordHash, means }: Credentials & { means: 'password' | 'passkey' },
  now: number,
): Promise<SignedIn | undefined> {
  if (!(await markSignedIn(db, { userId: user.id, passwordHash }, now))) return undefined;
  if (request.session) await deleteSession(db, request.session.id);
  const session = await insertSession(db, { user, ...clientOf(request) }, now);
  const actor = userActor(user, request.ip);
  const name = describeUserAgent(clientOf(request).browser);
  const subject = { kind: 'session', id: hashSecret(session.id), name } as const;
  await recordAudit(db, { action: 'session.started', actor, businessId: null, subject, detail: { with: means } }, now);
  return { session, user, passwordHash };
}

function signInPage({ platformName }: WebDeps, form: SignInForm): Page {
  const { csrf, returnTo, email, destination, done, problem } = form;
  return {
    title: 'Sign in',
    platformName,
    width: 'narrow',
    runsScript: true,
    body: html`${done && html`<p class="done" role="status">${done}</p>`}
<div class="card">
<h1>Sign in</h1>
<p class="muted">to continue to ${destination.appName ?? platformName}</p>
${postForm({
  action: '/sign-in',
  csrf,
  body: html`<input type="hidden" name="return_to" value="${returnTo}">
${input({ name: 'email', label: 'Email', type: 'email', value: email, autocomplete: 'username', focus: email === '' }, problem)}
${input({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', focus: email !== '' }, problem)}
<button class="primary wide">Sign in</button>`,
})}
${passkeySignInForm(csrf, returnTo, problem)}
<p class="small muted apart">Forgot your password? If you belong to one business only, an owner of it can give you a link to set a new one. Otherwise, or if you are its owner, ask a platform admin of ${platformName}.</p>
</div>`,
  };
}

function passkeySignInForm(csrf: string, returnTo: string, problem: Problem | undefined): Html {
  const form = postForm({
    action: '/sign-in/passkey',
    csrf,
    body: html`<input type="hidden" name="return_to" value="${returnTo}">
<button class="secondary wide">Use a passkey instead</button>`,
  });
  return passkeyBox({ act: 'get', form, problem });
}
