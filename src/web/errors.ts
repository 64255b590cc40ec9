import type { FastifyRequest } from 'fastify';
import type { SendErrorPage } from '../http/error-handler.ts';
import { ApiError } from '../http/errors.ts';
import { FormError, Overloaded, TooManyRequests } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';
import { errorLocation } from '../oauth/authorize/response.ts';
import { CallbackError, UntrustedRequest } from '../oauth/errors.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { type Flash, redirectWithFlash } from './flash.ts';
import { type Page, type PageContext, sendPage } from './layout.ts';

/** An error that is shown as a page. */
export class PageError extends Error {
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, sentence: string) {
    super(sentence);
    this.status = status;
    this.title = title;
  }
}

/** The same for a page that does not exist and for one that the user may not open. */
export function notFound(): PageError {
  return new PageError(404, 'Page not found', 'This page does not exist, or you do not have access to it.');
}

export function forbidden(sentence: string): PageError {
  return new PageError(403, 'Not allowed', sentence);
}

/** Redirects to the sign-in page, which leads back to `returnTo`. */
export class SignInRequired extends Error {
  readonly returnTo: string;
  /** A message for the sign-in page. */
  readonly flash: Flash | undefined;

  constructor(returnTo: string, done?: Flash) {
    super('Sign in first.');
    this.returnTo = returnTo;
    this.flash = done;
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
  platformName: string;
  issuer: string;
  /** Only on the web host, which has sessions. */
  loadNavigation?: ((request: FastifyRequest) => Promise<ErrorNavigation>) | undefined;
}

/** Responds to errors in a browser: with a redirect, or with a page that links back into the site. */
export function createErrorPages({ platformName, issuer, loadNavigation }: ErrorPageDeps): SendErrorPage {
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
    // The database may fail here, too.
    const navigation = hasNavigation(error) ? await loadNavigation?.(request).catch(() => undefined) : undefined;
    const { status, headers, page } = errorPage(error, { platformName, requestId: request.id, navigation });
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
  platformName: string;
  requestId: string;
  navigation?: ErrorNavigation | undefined;
}

/** With a context, the usual menu; without one, a link to sign in. */
export interface ErrorNavigation {
  context: PageContext | undefined;
}

/** If the server fails, other pages fail, too. A request from an untrusted app gets no links either. */
export function hasNavigation(error: unknown): boolean {
  return !(error instanceof UntrustedRequest) && describe(error).status < 500;
}

/** An unknown error is a bug: its page has no details. */
export function errorPage(error: unknown, { platformName, requestId, navigation }: ErrorPageContext): ErrorPage {
  const { status, title, body, headers = {} } = describe(error);
  return {
    status,
    headers,
    page: {
      title,
      platformName,
      width: 'narrow',
      ...(navigation?.context && { context: navigation.context }),
      runsScript: false,
      body: html`<div class="card"><h1>${title}</h1>${body}${navigation && navigationLink(navigation)}${status >= 500 && html`<p class="muted">If you ask for help, quote <code>${requestId}</code>.</p>`}</div>`,
    },
  };
}

function navigationLink({ context }: ErrorNavigation): Html {
  return context
    ? html`<p><a href="/settings/connected-apps">Back to Connected apps</a></p>`
    : html`<p><a href="/sign-in">Sign in</a></p>`;
}

interface Description {
  status: number;
  title: string;
  body: Html;
  headers?: Record<string, string>;
}

function describe(error: unknown): Description {
  if (error instanceof UntrustedRequest) {
    const body = html`<p>${error.message}</p>
<p class="notice"><strong>For the app’s developer:</strong> ${error.remedy}</p>
<p class="muted">You have not been sent anywhere, and nothing was shared.</p>`;
    return { status: 400, title: 'This app cannot be connected', body };
  }
  if (error instanceof PageError) {
    return { status: error.status, title: error.title, body: html`<p>${error.message}</p>` };
  }
  if (error instanceof ApiError) {
    if (error.status === 404) return describe(notFound());
    const title = error.status === 405 ? 'Method not allowed' : 'Request failed';
    return { status: error.status, title, body: html`<p>${error.message}</p>` };
  }
  if (error instanceof FormError) return { status: 400, title: 'Request failed', body: html`<p>${error.message}</p>` };
  if (error instanceof TooManyRequests) {
    const headers = { 'retry-after': String(error.retryAfter) };
    return { status: 429, title: 'Too many requests', body: html`<p>${error.message}</p>`, headers };
  }
  if (error instanceof StorageUnavailable || error instanceof Overloaded) {
    const body = html`<p>Try again in a moment.</p>`;
    return { status: 503, title: 'Temporarily unavailable', body, headers: { 'retry-after': '1' } };
  }
  return describeStatus((error as { statusCode?: number }).statusCode ?? 500);
}

function describeStatus(status: number): Description {
  if (status === 404) return describe(notFound());
  if (status < 500) return { status, title: 'Bad request', body: html`<p>The request could not be parsed.</p>` };
  const body = html`<p>The error has been logged. Try again, or come back later.</p>`;
  return { status: 500, title: 'Something went wrong', body };
}
