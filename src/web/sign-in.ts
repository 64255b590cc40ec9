import type { FastifyInstance, FastifyRequest } from 'fastify';
import { endSession, startSession } from '../accounts/sessions.ts';
import { type Authenticated, authenticateUser, markSignedIn } from '../accounts/users.ts';
import { TooManyRequests } from '../lib/errors.ts';
import { html } from '../lib/html.ts';
import { type Destination, destinationOf } from './destination.ts';
import { type Form, input, type Problem, postForm, text } from './fields.ts';
import { counterOf, rememberBrowser } from './known-browsers.ts';
import { type Page, sendPage } from './layout.ts';
import type { WebParts } from './parts.ts';
import { readReturnTo } from './return-to.ts';
import { browserOf, keepSession } from './visits.ts';

interface SignInForm {
  csrf: string;
  returnTo: string;
  email: string;
  destination: Destination;
  problem?: Problem;
}

export function mountSignIn(host: FastifyInstance, parts: WebParts): void {
  // The form is shown even to someone with a session: a second sign-in is what prompt=login asks for.
  host.get<{ Querystring: Form }>('/sign-in', async (request, reply) => {
    const returnTo = readReturnTo(request.query.return_to, parts.consentUrl);
    const email = request.visit.session?.user.email ?? '';
    const destination = await destinationOf(parts, returnTo);
    return sendPage(reply, signInPage(parts, { csrf: request.visit.csrf, returnTo, email, destination }), destination);
  });

  host.post<{ Body: Form }>('/sign-in', async (request, reply) => {
    const returnTo = readReturnTo(request.body.return_to, parts.consentUrl);
    const email = text(request.body, 'email');
    const refuse = async (status: number, message: string) => {
      const destination = await destinationOf(parts, returnTo);
      const problem = { field: 'password', message };
      const form = { csrf: request.visit.csrf, returnTo, email, destination, problem };
      return sendPage(reply, signInPage(parts, form), { status, ...destination });
    };
    try {
      const session = await signIn(parts, request, email, text(request.body, 'password'));
      if (!session) return refuse(401, 'The email or the password is wrong.');
      keepSession(reply, session);
      rememberBrowser(parts.keys, reply, session.user.email);
      return reply.redirect(returnTo, 303);
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      reply.header('retry-after', error.retryAfter);
      return refuse(429, error.message);
    }
  });
}

/** Each attempt is counted before it is looked at, by account and by address, and forgiven if it succeeds. */
async function signIn(parts: WebParts, request: FastifyRequest, email: string, password: string) {
  const { storage, limits, keys } = parts;
  const account = counterOf(keys, request, email);
  await limits.signInPerAddress.count(request.ip);
  await limits.signInPerAccount.count(account);
  const authenticated = await authenticateUser(storage.durable, email, password);
  const session = authenticated && (await renewSession(parts, request, authenticated));
  if (!session) return undefined;
  await limits.signInPerAccount.forget(account);
  await limits.signInPerAddress.giveBack(request.ip);
  return session;
}

/** Signing in always makes a new session id, and the old one ends. */
async function renewSession({ storage, clock }: WebParts, request: FastifyRequest, { user, proof }: Authenticated) {
  const { session } = request.visit;
  return storage.atomically(async (db) => {
    if (!(await markSignedIn(db, { userId: user.id, proof }, clock()))) return undefined;
    if (session) await endSession(db, session.id);
    return startSession(db, { user, ...browserOf(request) }, clock());
  });
}

function signInPage({ platformName }: WebParts, { csrf, returnTo, email, destination, problem }: SignInForm): Page {
  return {
    title: 'Sign in',
    platformName,
    width: 'narrow',
    body: html`<div class="card">
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
</div>`,
  };
}
