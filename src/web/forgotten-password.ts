import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mailPasswordLink } from '../accounts/password-links.ts';
import type { Texts } from '../languages/en.ts';
import { readEmail } from '../lib/email-addresses.ts';
import { type Html, html } from '../lib/html.ts';
import { access } from './access.ts';
import { bdi } from './components/display.ts';
import type { WebDeps } from './deps.ts';
import { notFound } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import { type Form, input, type Problem, postForm, text, tryRateLimitedForm } from './forms.ts';
import { textsOf, withUiLocales } from './language.ts';
import { sendPage } from './layout.ts';
import { countMail } from './mail-limits.ts';
import { clientOf } from './session.ts';

const PATH = '/password';

/** Mails a link to set a new password. Without mail, the page says who can create one. */
export function mountForgottenPassword(host: FastifyInstance, deps: WebDeps): void {
  const { storage, mailer, clock } = deps;
  host.get(PATH, access('anyone'), async (request, reply) => show(deps, request, reply));

  host.post<{ Body: Form }>(PATH, access('anyone'), async (request, reply) => {
    if (!mailer.isOn) throw notFound();
    const send = async () => {
      const email = readEmail(text(request.body, 'email'));
      await countMail(deps, request, email);
      const language = textsOf(deps, request).tag;
      await mailPasswordLink(storage.durable, mailer, { email, device: clientOf(request), language }, clock());
      return redirectWithFlash(reply, withUiLocales(request, '/sign-in'), 'password_mailed');
    };
    const showAgain = ({ message }: Problem, status: number) =>
      show(deps, request, reply, { problem: { field: 'email', message }, status });
    return tryRateLimitedForm(reply, send, showAgain, { texts: textsOf(deps, request) });
  });
}

async function show(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { problem, status = 200 }: { problem?: Problem; status?: number } = {},
): Promise<FastifyReply> {
  const { platformName, mailer } = deps;
  const texts = textsOf(deps, request);
  const { title, back } = texts.forgottenPassword;
  const typed = text((request.body ?? {}) as Form, 'email');
  const body = html`<div class="card"><h1>${title}</h1>
${mailer.isOn ? mailForm(texts, request, { typed, problem }) : helpers(texts, platformName)}
<p class="small apart"><a href="${withUiLocales(request, '/sign-in')}">${back}</a></p></div>`;
  return sendPage(reply, { title, texts, platformName, width: 'narrow', body }, { status });
}

interface MailForm {
  typed: string;
  problem: Problem | undefined;
}

function mailForm({ fields, forgottenPassword }: Texts, request: FastifyRequest, { typed, problem }: MailForm): Html {
  return html`<p class="muted">${forgottenPassword.intro}</p>
${postForm({
  action: withUiLocales(request, PATH),
  csrf: request.csrfToken,
  body: html`${input({ name: 'email', label: fields.email, type: 'email', value: typed, autocomplete: 'username', focus: true }, problem)}
<button class="primary wide">${forgottenPassword.submit}</button>`,
})}`;
}

/** Only people who can really help: an owner cannot reset the password of a person who belongs to another business, too. */
function helpers({ forgottenPassword }: Texts, platformName: string): Html {
  const { noMail, askOwner, askPlatform, linkWorksOnce } = forgottenPassword;
  return html`<p>${noMail(bdi(platformName))}</p>
<ul><li>${askOwner}</li>
<li>${askPlatform(bdi(platformName))}</li></ul>
<p class="muted">${linkWorksOnce}</p>`;
}
