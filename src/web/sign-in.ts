import type { FastifyInstance, FastifyRequest } from 'fastify';
import { endSession, startSession } from '../accounts/sessions.ts';
import { authenticateUser, type User } from '../accounts/users.ts';
import { TooManyRequests } from '../lib/errors.ts';
import { html } from '../lib/html.ts';
import { type Form, input, type Problem, text } from './fields.ts';
import { formTargetsOf } from './form-targets.ts';
import { counterOf, rememberBrowser } from './known-browsers.ts';
import { type Page, sendPage } from './layout.ts';
import type { WebParts } from './parts.ts';
import { readReturnTo } from './return-to.ts';
import { keepSession } from './visits.ts';

interface SignInForm {
  csrf: string;
  returnTo: string;
  email: string;
  problem?: Problem;
}

export function mountSignIn(host: FastifyInstance, parts: WebParts): void {
  // The form is shown even to someone with a session: a second sign-in is what prompt=login asks for.
  host.get<{ Querystring: Form }>('/sign-in', async (request, reply) => {
    const returnTo = readReturnTo(request.query.return_to, parts.consentUrl);
    const email = request.visit.session?.user.email ?? '';
    const page = signInPage(parts, { csrf: request.visit.csrf, returnTo, email });
    return sendPage(reply, page, { formTargets: await formTargetsOf(parts, returnTo) });
  });

  host.post<{ Body: Form }>('/sign-in', async (request, reply) => {
    const returnTo = readReturnTo(request.body.return_to, parts.consentUrl);
    const email = text(request.body, 'email');
    const refuse = async (status: number, message: string) =>
      sendPage(
        reply,
        signInPage(parts, { csrf: request.visit.csrf, returnTo, email, problem: { field: 'password', message } }),
        { status, formTargets: await formTargetsOf(parts, returnTo) },
      );
    try {
      const user = await checkPassword(parts, request, email, text(request.body, 'password'));
      if (!user) return refuse(401, 'The email or the password is wrong.');
      keepSession(reply, await renewSession(parts, request, user));
      rememberBrowser(parts.keys, reply, user.email);
      return reply.redirect(returnTo, 303);
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      reply.header('retry-after', error.retryAfter);
      return refuse(429, `Too many attempts. Try again in ${Math.ceil(error.retryAfter / 60)} minutes.`);
    }
  });
}

/** Each attempt is counted before it is looked at, by account and by address, and forgiven if it succeeds. */
async function checkPassword(parts: WebParts, request: FastifyRequest, email: string, password: string) {
  const { storage, limits, keys } = parts;
  const account = counterOf(keys, request, email);
  await limits.signInPerAddress.count(request.ip);
  await limits.signInPerAccount.count(account);
  const user = await authenticateUser(storage.durable, email, password);
  if (!user) return undefined;
  await limits.signInPerAccount.forget(account);
  await limits.signInPerAddress.giveBack(request.ip);
  return user;
}

/** Signing in always makes a new session id, and the old one ends. */
async function renewSession({ storage, clock }: WebParts, request: FastifyRequest, user: User) {
  const db = storage.durable;
  if (request.visit.session) await endSession(db, request.visit.session.id);
  const browser = request.headers['user-agent'] ?? 'Unknown browser';
  return startSession(db, { user, browser, address: request.ip }, clock());
}

function signInPage({ platformName }: WebParts, { csrf, returnTo, email, problem }: SignInForm): Page {
  return {
    title: 'Sign in',
    platformName,
    width: 'narrow',
    body: html`<div class="card">
<h1>Sign in</h1>
<p class="muted">to continue to ${platformName}</p>
<form method="post" action="/sign-in">
<input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="return_to" value="${returnTo}">
${input({ name: 'email', label: 'Email', type: 'email', value: email, autocomplete: 'username', focus: email === '' }, problem)}
${input({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', focus: email !== '' }, problem)}
<button class="primary wide">Sign in</button>
</form>
</div>`,
  };
}
