import type { FastifyRequest } from 'fastify';
import type { SendErrorPage } from '../http/error-handler.ts';
import { ApiError } from '../http/errors.ts';
import { en, type Texts } from '../languages/en.ts';
import type { Languages } from '../languages/languages.ts';
import type { ErrorText } from '../languages/texts.ts';
import { FormError, Overloaded, TooManyRequests } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';
import { errorLocation } from '../oauth/authorize/response.ts';
import { CallbackError, UntrustedRequest } from '../oauth/errors.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { type Flash, redirectWithFlash } from './flash.ts';
import { textsOf } from './language.ts';
import { type Page, type PageContext, sendPage } from './layout.ts';

/** An error that is shown as a page, in the language of the reader if its words are in the catalogue. */
export class PageError extends Error {
  readonly status: number;
  readonly title: string;
  readonly textIn: ((texts: Texts) => ErrorText) | undefined;

  constructor(status: number, textIn: (texts: Texts) => ErrorText);
  constructor(status: number, title: string, sentence: string);
  constructor(status: number, words: string | ((texts: Texts) => ErrorText), sentence = '') {
    const english = typeof words === 'string' ? { title: words, sentence } : words(en);
    super(english.sentence);
    this.status = status;
    this.title = english.title;
    this.textIn = typeof words === 'string' ? undefined : words;
  }
}

/** The error is the same for a page that does not exist and for one that the user may not open. */
export function notFound(): PageError {
  return new PageError(404, ({ errors }) => errors.notFound);
}

export function forbidden(sentence: string | ((texts: Texts) => string)): PageError {
  if (typeof sentence === 'string') return new PageError(403, en.errors.notAllowed, sentence);
  return new PageError(403, (texts) => ({ title: texts.errors.notAllowed, sentence: sentence(texts) }));
}

/** Redirects to the sign-in page, which leads back to `returnTo`. */
export class SignInRequired extends Error {
  readonly returnTo: string;
  /** A message for the sign-in page. */
  readonly flash: Flash | undefined;

  constructor(returnTo: string, flash?: Flash) {
    super('Sign in first.');
    this.returnTo = returnTo;
    this.flash = flash;
  }
}

/** For a form that was sent after the session had ended. The sign-in page explains why the input is lost. */
export function sessionExpired(returnTo: string): SignInRequired {
  return new SignInRequired(returnTo, 'session_over');
}

/** Redirects to the page on which the user sets up two-step sign-in, or is asked to sign in with it. */
export class SecondFactorRequired extends Error {
  readonly returnTo: string;

  constructor(returnTo: string) {
    super('Set up two-step sign-in first.');
    this.returnTo = returnTo;
  }
}

interface ErrorPageDeps {
  languages: Languages;
  platformName: string;
  issuer: string;
  /** Only on the web host, which has sessions. */
  loadNavigation?: ((request: FastifyRequest) => Promise<ErrorNavigation>) | undefined;
}

/** Responds to errors in a browser: with a redirect, or with a page that links back into the site. */
export function createErrorPages({ languages, platformName, issuer, loadNavigation }: ErrorPageDeps): SendErrorPage {
  return async (error, request, reply) => {
    if (error instanceof CallbackError) {
      reply.reason = error.error.reason;
      return reply.redirect(errorLocation(error, issuer), 303);
    }
    if (error instanceof SignInRequired) {
      const address = `/sign-in?${new URLSearchParams({ return_to: error.returnTo })}`;
      return error.flash ? redirectWithFlash(reply, address, error.flash) : reply.redirect(address, 303);
    }
    if (error instanceof SecondFactorRequired) {
      return reply.redirect(`/settings/two-step?${new URLSearchParams({ return_to: error.returnTo })}`, 303);
    }
    if (error instanceof UntrustedRequest) reply.reason = error.rejected?.reason;
    // The database may fail here, too.
    const navigation = hasNavigation(error) ? await loadNavigation?.(request).catch(() => undefined) : undefined;
    const texts = textsOf({ languages }, request, navigation?.context?.user);
    const { status, headers, page } = errorPage(error, { texts, platformName, requestId: request.id, navigation });
    return sendPage(reply.headers(headers), page, { status });
  };
}

interface ErrorPage {
  status: number;
  headers: Record<string, string>;
  page: Page;
}

/** Without `navigation`, the page has no links. */
interface ErrorPageContext {
  texts: Texts;
  platformName: string;
  requestId: string;
  navigation?: ErrorNavigation | undefined;
}

/** With a context, the usual menu; without one, a link to sign in. */
export interface ErrorNavigation {
  context: PageContext | undefined;
}

/** If the server fails, other pages fail, too. A request from an untrusted app gets no links either. */
function hasNavigation(error: unknown): boolean {
  return !(error instanceof UntrustedRequest) && describe(error, en).status < 500;
}

/** An unknown error is a bug: its page has no details. */
export function errorPage(error: unknown, shown: ErrorPageContext): ErrorPage {
  const { platformName, requestId, navigation } = shown;
  const texts = isInEnglish(error) ? en : shown.texts;
  const { status, title, body, headers = {} } = describe(error, texts);
  return {
    status,
    headers,
    page: {
      title,
      texts,
      platformName,
      width: 'narrow',
      ...(navigation?.context && { context: navigation.context }),
      runsScript: false,
      body: html`<div class="card"><h1>${title}</h1>${body}${navigation && navigationLink(texts, navigation)}${status >= 500 && html`<p class="muted">${texts.errors.quote(html`<code>${requestId}</code>`)}</p>`}</div>`,
    },
  };
}

/** The texts of the dashboard are in English only. */
function isInEnglish(error: unknown): boolean {
  const hasText = error instanceof PageError || error instanceof FormError || error instanceof TooManyRequests;
  return hasText && error.textIn === undefined;
}

function navigationLink({ errors, signIn }: Texts, { context }: ErrorNavigation): Html {
  return context
    ? html`<p><a class="button" href="/settings/connected-apps">${errors.backToApps}</a></p>`
    : html`<p><a class="button" href="/sign-in">${signIn.submit}</a></p>`;
}

interface Description {
  status: number;
  title: string;
  body: Html;
  headers?: Record<string, string>;
}

function describe(error: unknown, texts: Texts): Description {
  const { errors } = texts;
  if (error instanceof UntrustedRequest) return describeUntrusted(error, texts);
  if (error instanceof PageError)
    return pageOf(error.status, error.textIn?.(texts) ?? { ...error, sentence: error.message });
  if (error instanceof ApiError) {
    if (error.status === 404) return pageOf(404, errors.notFound);
    return pageOf(error.status, error.status === 405 ? errors.methodNotAllowed : errors.failed);
  }
  if (error instanceof FormError) {
    return pageOf(400, { title: errors.failed.title, sentence: error.textIn?.(texts.problems) ?? error.message });
  }
  if (error instanceof TooManyRequests) {
    const headers = { 'retry-after': String(error.retryAfter) };
    const sentence = error.textIn?.(texts.problems) ?? error.message;
    return { ...pageOf(429, { title: errors.tooManyRequests, sentence }), headers };
  }
  if (error instanceof StorageUnavailable || error instanceof Overloaded) {
    return { ...pageOf(503, errors.unavailable), headers: { 'retry-after': '1' } };
  }
  const status = (error as { statusCode?: number }).statusCode ?? 500;
  if (status >= 500) return pageOf(500, errors.unexpected);
  return status === 404 ? pageOf(404, errors.notFound) : pageOf(status, errors.badRequest);
}

function pageOf(status: number, { title, sentence }: ErrorText): Description {
  return { status, title, body: html`<p>${sentence}</p>` };
}

/** For people first. What a developer can do about it is in English, like the API reference. */
function describeUntrusted(error: UntrustedRequest, { errors, untrusted }: Texts): Description {
  const body = html`<p>${errors.appSentence}</p>
<section class="technical"><h2>${errors.forDeveloper}</h2>
<p>${error.textIn(untrusted)}</p>
<p lang="en" dir="ltr">${error.remedy}</p></section>`;
  return { status: 400, title: errors.appTitle, body };
}
