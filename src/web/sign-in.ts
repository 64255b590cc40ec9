import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findPasskey, type Passkey } from '../accounts/passkeys.ts';
import { authenticateUser } from '../accounts/passwords.ts';
import { endSession, type SignedIn } from '../accounts/sessions.ts';
import { recordFailedSignIn, signIn, signInWithPasskey } from '../accounts/sign-in.ts';
import { type Credentials, findCredentials, findUser, findUserByEmail } from '../accounts/users.ts';
import { authenticationOptions, claimedCredential, verifyAuthentication } from '../accounts/webauthn.ts';
import type { Texts } from '../languages/en.ts';
import { Overloaded, TooManyRequests } from '../lib/errors.ts';
import { html } from '../lib/html.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { hashSecret } from '../lib/secrets.ts';
import { access } from './access.ts';
import { bdi, toast } from './components/display.ts';
import { passkeySignInForm } from './components/product.ts';
import { siteOf, type WebDeps } from './deps.ts';
import { redirectWithFlash, signInFlashMessage } from './flash.ts';
import { type Form, input, type Problem, postForm, text } from './forms.ts';
import { countAttempt, signInFrom } from './known-browsers.ts';
import { textsOf, withUiLocales } from './language.ts';
import { type Page, sendPage } from './layout.ts';
import { type Destination, findDestination, readReturnTo } from './return-to.ts';
import { finishSignIn, mountSecondStep, startSecondStep } from './second-step.ts';
import { actorOf, clearSessionCookie, clientOf } from './session.ts';

export function mountSignIn(host: FastifyInstance, deps: WebDeps): void {
  mountSecondStep(host, deps);
  // Shown to signed-in users, too: prompt=login requires a new sign-in.
  host.get<{ Querystring: Form }>('/sign-in', access('anyone'), async (request, reply) => {
    const target = readReturnTo(request.query.return_to, deps.consentUrl);
    // The forms keep `return_to`, and with it the language that the app requested.
    const returnTo = target === '/' ? withUiLocales(request, target) : target;
    const email = request.session?.user.email ?? '';
    const destination = await findDestination(deps, returnTo, request.ip);
    const texts = textsOf(deps, request);
    const flash = signInFlashMessage(texts, request.query);
    const page = signInPage(deps, request, { returnTo, email, destination, flash, texts });
    return sendPage(reply, page, destination);
  });

  host.post<{ Body: Form }>('/sign-in', access('anyone'), (request, reply) => {
    const [email, password] = [text(request.body, 'email'), text(request.body, 'password')];
    return respond(deps, { request, reply, email, field: 'password' }, () =>
      checkPassword(deps, request, email, password),
    );
  });

  host.post('/sign-in/passkey/options', access('anyone'), async (request, reply) => {
    const options = await authenticationOptions(siteOf(deps), { boundTo: browserHash(request) }, deps.clock());
    return reply.header('cache-control', 'no-store').send(options);
  });

  host.post<{ Body: Form }>('/sign-in/passkey', access('anyone'), (request, reply) => {
    const email = request.session?.user.email ?? '';
    return respond(deps, { request, reply, email, field: 'passkey' }, () =>
      checkPasskey(deps, request, text(request.body, 'credential')),
    );
  });
}

interface Attempt {
  request: FastifyRequest<{ Body: Form }>;
  reply: FastifyReply;
  email: string;
  /** Shows why the attempt failed. */
  field: 'password' | 'passkey';
}

/** The password is correct, but the user needs a second step. */
interface PasswordChecked {
  credentials: Credentials;
}

/** Redirects to the page that the user came for or to the second step, or shows the form again. */
async function respond(
  deps: WebDeps,
  { request, reply, email, field }: Attempt,
  attempt: () => Promise<SignedIn | PasswordChecked | undefined>,
): Promise<FastifyReply> {
  const returnTo = readReturnTo(request.body.return_to, deps.consentUrl);
  const texts = textsOf(deps, request);
  const reject = async (status: number, message: string) => {
    const destination = await findDestination(deps, returnTo, request.ip);
    const page = signInPage(deps, request, { returnTo, email, destination, texts, problem: { field, message } });
    return sendPage(reply, page, { status, ...destination });
  };
  try {
    const signedIn = await attempt();
    if (!signedIn) return reject(401, texts.signIn[field === 'password' ? 'wrongPassword' : 'wrongPasskey']);
    if ('credentials' in signedIn) return startSecondStep(deps, request, reply, { ...signedIn, returnTo });
    return finishSignIn(deps, reply, signedIn, returnTo);
  } catch (error) {
    if (!(error instanceof TooManyRequests || error instanceof Overloaded)) throw error;
    reply.header('retry-after', error.retryAfter);
    return reject(error instanceof Overloaded ? 503 : 429, error.textIn?.(texts.problems) ?? error.message);
  }
}

/** Counts each attempt by account and by address before it checks the password, and refunds a successful one. */
async function checkPassword(
  deps: WebDeps,
  request: FastifyRequest,
  email: string,
  password: string,
): Promise<SignedIn | PasswordChecked | undefined> {
  const { storage, limits, clock } = deps;
  const db = storage.durable;
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const counted = await countAttempt(deps, request, email);
  const credentials = await authenticateUser(db, email, password).catch(async (error) => {
    // The password was not checked, so the attempt does not count.
    if (error instanceof Overloaded) {
      await Promise.all([counted.refund(), limits.signInPerAddress.refund(network)]);
    }
    throw error;
  });
  if (credentials) await limits.changesPerUser.count(credentials.user.id);
  const attempt = credentials && (await signInFrom(deps, request, credentials));
  const signedIn = attempt && (await signIn(db, attempt, clock()));
  if (!credentials || !signedIn) {
    const user = await findUserByEmail(db, email);
    await recordFailedSignIn(db, { user, method: 'password', address: request.ip }, clock());
    return undefined;
  }
  await counted.reset();
  await limits.signInPerAddress.refund(network);
  return signedIn === 'second_step' ? { credentials } : signedIn;
}

/** Counts attempts by address only: the account is not known before the response is verified. */
async function checkPasskey(deps: WebDeps, request: FastifyRequest, response: string): Promise<SignedIn | undefined> {
  const { storage, limits, clock } = deps;
  const db = storage.durable;
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const passkey = await findPasskey(db, claimedCredential(response) ?? '');
  const signedIn = passkey && (await verifyPasskey(deps, request, { response, passkey }));
  if (!signedIn) {
    const user = passkey && (await findUser(db, passkey.userId));
    await recordFailedSignIn(db, { user, method: 'passkey', address: request.ip }, clock());
    return undefined;
  }
  await limits.signInPerAddress.refund(network);
  return signedIn;
}

async function verifyPasskey(
  deps: WebDeps,
  request: FastifyRequest,
  { response, passkey }: { response: string; passkey: Passkey },
): Promise<SignedIn | undefined> {
  const { storage, clock, limits } = deps;
  const submitted = { text: response, passkey, boundTo: browserHash(request) };
  const verified = await verifyAuthentication(siteOf(deps), submitted, clock());
  const credentials = verified && (await findCredentials(storage.durable, passkey.userId));
  if (!credentials) return undefined;
  await limits.changesPerUser.count(credentials.user.id);
  const attempt = { ...(await signInFrom(deps, request, credentials)), passkey, verified };
  return signInWithPasskey(storage.durable, attempt, clock());
}

/** Challenges are bound to the browser that requested them. */
function browserHash({ visitorId }: FastifyRequest): string {
  return hashSecret(visitorId);
}

interface SignInForm {
  texts: Texts;
  returnTo: string;
  email: string;
  destination: Destination;
  flash?: string | undefined;
  problem?: Problem;
}

function signInPage({ platformName }: WebDeps, request: FastifyRequest, form: SignInForm): Page {
  const { texts, returnTo, email, destination, flash, problem } = form;
  const { signIn, fields } = texts;
  const csrf = request.csrfToken;
  return {
    title: signIn.title,
    texts,
    platformName,
    width: 'narrow',
    runsScript: true,
    body: html`${flash && toast(flash)}
<div class="card">
<h1>${signIn.title}</h1>
<p class="muted">${signIn.destination(bdi(destination.appName ?? platformName))}</p>
${postForm({
  action: '/sign-in',
  csrf,
  body: html`<input type="hidden" name="return_to" value="${returnTo}">
${input({ name: 'email', label: fields.email, type: 'email', value: email, autocomplete: 'username', focus: email === '' }, problem)}
${input({ name: 'password', label: fields.password, type: 'password', autocomplete: 'current-password', show: fields.showPassword, focus: email !== '' }, problem)}
<p class="small forgot"><a href="${withUiLocales(request, '/password')}">${signIn.forgot}</a></p>
<button class="primary wide">${signIn.submit}</button>`,
})}
${passkeySignInForm({ texts, csrf, returnTo, problem })}
</div>`,
  };
}

export function mountSignOut(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;
  // A link shows this form, and does not sign anyone out.
  host.get('/sign-out', access('anyone'), async (request, reply) => {
    const texts = textsOf(deps, request);
    const { title, question, appsStay, submit } = texts.signOut;
    const button = html`<button class="primary wide">${submit}</button>`;
    const body = html`<div class="card">
<h1>${question}</h1>
<p>${appsStay}</p>
${postForm({ action: '/sign-out', csrf: request.csrfToken, body: button })}
</div>`;
    return sendPage(reply, { title, texts, platformName, width: 'narrow', body });
  });

  host.post('/sign-out', access('anyone'), async (request, reply) => {
    const { session } = request;
    const { browser } = clientOf(request);
    if (session) await endSession(actorOf(request), storage.durable, { session, browser }, clock());
    clearSessionCookie(reply);
    return redirectWithFlash(reply, '/sign-in', 'signed_out');
  });
}
