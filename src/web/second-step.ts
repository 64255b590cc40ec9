import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findSecondFactors, type SecondFactors } from '../accounts/second-factors.ts';
import type { SignedIn } from '../accounts/sessions.ts';
import { recordFailedSignIn, signInWithCode } from '../accounts/sign-in.ts';
import { type Credentials, findCredentials } from '../accounts/users.ts';
import type { Texts } from '../languages/en.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { Overloaded, TooManyRequests } from '../lib/errors.ts';
import { html } from '../lib/html.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { decodeSigned, encodeSigned, sign, verifySignature } from '../lib/keyring.ts';
import { hashSecret } from '../lib/secrets.ts';
import { access } from './access.ts';
import { codeForms, type SubmittedCode, submittedCode } from './code-forms.ts';
import { bdi } from './components/display.ts';
import { passkeySignInForm } from './components/product.ts';
import type { WebDeps } from './deps.ts';
import { SignInRequired } from './errors.ts';
import type { Form, Problem } from './forms.ts';
import { countCodeAttempt, rememberBrowser, signInFrom } from './known-browsers.ts';
import { textsOf } from './language.ts';
import { type Page, sendPage } from './layout.ts';
import { type Destination, findDestination, readReturnTo } from './return-to.ts';
import { COOKIE_OPTIONS, setSessionCookie } from './session.ts';

/** A browser in which the password was correct. There is no session before the second step. */
interface PendingSignIn {
  userId: string;
  until: number;
  /** The hash of the visitor id: the cookie is of no use in another browser. */
  visitor: string;
  /** A signature of the password hash: a new password ends it. */
  binding: string;
}

const PATH = '/sign-in/second-step';
const NAME = '__Host-second-step';
const LIFETIME = 10 * MINUTE;
const PENDING = 'pending sign-in';
const BINDING = 'password of a pending sign-in';

type StepRequest = FastifyRequest<{ Querystring: Form; Body: Form }>;

export function mountSecondStep(host: FastifyInstance, deps: WebDeps): void {
  host.get<{ Querystring: Form; Body: Form }>(PATH, access('anyone'), async (request, reply) => {
    const returnTo = readReturnTo(request.query.return_to, deps.consentUrl);
    const credentials = await requirePending(deps, request, returnTo);
    return show(deps, request, reply, { credentials, returnTo });
  });

  host.post<{ Querystring: Form; Body: Form }>(PATH, access('anyone'), async (request, reply) => {
    const returnTo = readReturnTo(request.body.return_to, deps.consentUrl);
    const credentials = await requirePending(deps, request, returnTo);
    const { problems } = textsOf(deps, request, credentials.user);
    const code = submittedCode(request.body);
    const reject = (status: number, message: string) =>
      show(deps, request, reply, { credentials, returnTo, status, problem: { field: code.field, message } });
    try {
      const signedIn = await checkCode(deps, request, credentials, code);
      return signedIn ? finishSignIn(deps, reply, signedIn, returnTo) : await reject(401, problems.wrongCode);
    } catch (error) {
      if (!(error instanceof TooManyRequests || error instanceof Overloaded)) throw error;
      reply.header('retry-after', error.retryAfter);
      return reject(error instanceof Overloaded ? 503 : 429, error.textIn?.(problems) ?? error.message);
    }
  });
}

/** After the password: the browser gets a signed cookie, and the form for the second step. */
export function startSecondStep(
  { keys, clock }: WebDeps,
  { visitorId }: FastifyRequest,
  reply: FastifyReply,
  { credentials: { user, passwordHash }, returnTo }: { credentials: Credentials; returnTo: string },
): FastifyReply {
  const pending: PendingSignIn = {
    userId: user.id,
    until: clock() + LIFETIME,
    visitor: hashSecret(visitorId),
    binding: sign(keys, BINDING, passwordHash),
  };
  reply.setCookie(NAME, encodeSigned(keys, PENDING, pending), { ...COOKIE_OPTIONS, maxAge: LIFETIME / SECOND });
  return reply.redirect(`${PATH}?${new URLSearchParams({ return_to: returnTo })}`, 303);
}

/** After the last step, for every method of signing in. */
export function finishSignIn(deps: WebDeps, reply: FastifyReply, signedIn: SignedIn, returnTo: string): FastifyReply {
  setSessionCookie(reply, signedIn.session);
  rememberBrowser(deps, reply, signedIn);
  if (reply.request.cookies[NAME] !== undefined) reply.clearCookie(NAME, COOKIE_OPTIONS);
  return reply.redirect(returnTo, 303);
}

async function requirePending(
  { storage, keys, clock }: WebDeps,
  { cookies, visitorId }: FastifyRequest,
  returnTo: string,
): Promise<Credentials> {
  const pending = decodeSigned<PendingSignIn>(keys, PENDING, cookies[NAME] ?? '');
  const isHere = pending?.visitor === hashSecret(visitorId) && pending.until > clock();
  const found = isHere ? await findCredentials(storage.durable, pending.userId) : undefined;
  const isCurrent = found && pending && verifySignature(keys, BINDING, found.passwordHash, pending.binding);
  if (!isCurrent || found.user.disabledAt !== null) throw new SignInRequired(returnTo);
  return found;
}

/** Counts each attempt by account and by address before it checks the code, and refunds a successful one. */
async function checkCode(
  deps: WebDeps,
  request: StepRequest,
  credentials: Credentials,
  { code, method }: SubmittedCode,
): Promise<SignedIn | undefined> {
  const { storage, limits, clock, keys } = deps;
  const { user } = credentials;
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const counted = await countCodeAttempt(deps, request, { user, method });
  await limits.changesPerUser.count(user.id);
  const attempt = { ...(await signInFrom(deps, request, credentials)), keys, code };
  const signedIn = await signInWithCode(storage.durable, attempt, clock());
  if (!signedIn) {
    await recordFailedSignIn(storage.durable, { user, method, address: request.ip }, clock());
    return undefined;
  }
  await counted.refund();
  await limits.signInPerAddress.refund(network);
  return signedIn;
}

interface Shown {
  credentials: Credentials;
  returnTo: string;
  problem?: Problem;
  status?: number;
}

async function show(
  deps: WebDeps,
  request: StepRequest,
  reply: FastifyReply,
  { credentials: { user }, returnTo, problem, status = 200 }: Shown,
): Promise<FastifyReply> {
  const factors = await findSecondFactors(deps.storage.durable, user.id);
  const destination = await findDestination(deps, returnTo, request.ip);
  const texts = textsOf(deps, request, user);
  const form = { texts, csrf: request.csrfToken, email: user.email, returnTo, factors, destination, problem };
  return sendPage(reply, secondStepPage(deps, form), { status, ...destination });
}

interface SecondStepForm {
  texts: Texts;
  csrf: string;
  email: string;
  returnTo: string;
  factors: SecondFactors;
  destination: Destination;
  problem: Problem | undefined;
}

function secondStepPage({ platformName }: WebDeps, form: SecondStepForm): Page {
  const { texts, csrf, email, returnTo, factors, destination, problem } = form;
  const { secondStep, signIn } = texts;
  const hasApp = factors.appAddedAt !== null;
  return {
    title: secondStep.title,
    texts,
    platformName,
    width: 'narrow',
    runsScript: true,
    body: html`<div class="card">
<h1>${secondStep.title}</h1>
<p class="muted">${secondStep.account(bdi(destination.appName ?? platformName), html`<strong>${bdi(email)}</strong>`)}</p>
<p class="small another"><a href="/sign-in?${new URLSearchParams({ return_to: returnTo }).toString()}">${signIn.anotherAccount}</a></p>
${hasApp && codeForms({ texts, action: PATH, csrf, returnTo, factors, button: signIn.submit, problem })}
${!hasApp && html`<p>${secondStep.passkeyRequired}</p>`}
${factors.passkeys.length > 0 && passkeySignInForm({ texts, csrf, returnTo, problem })}
<p class="small muted apart">${secondStep[hasApp ? 'lostPhoneAndCodes' : 'lostPhone'](bdi(platformName))}</p>
</div>`,
  };
}
