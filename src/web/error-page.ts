import { ApiError } from '../http/errors.ts';
import { FormError, Overloaded, TooManyRequests } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';
import { UntrustedRequest } from '../oauth/errors.ts';
import { StorageUnavailable } from '../storage/errors.ts';
import { postForm } from './fields.ts';
import type { Page, PageContext } from './layout.ts';
import { notFound, OtherBusiness, PageError } from './refusals.ts';

interface ErrorPage {
  status: number;
  headers: Record<string, string>;
  page: Page;
}

/** Where trouble was met. Without `wayOn`, the page leads nowhere. */
interface Circumstances {
  platformName: string;
  requestId: string;
  wayOn?: ErrorNavigation | undefined;
}

/** For someone who is signed in, their usual frame; for anyone else, a link to sign in. */
export interface ErrorNavigation {
  at: PageContext | undefined;
}

/** Whoever has met an app that cannot be trusted goes back to it, and while something is broken, no page works. */
export function leadsOn(error: unknown): boolean {
  return !(error instanceof UntrustedRequest) && describe(error).status < 500;
}

/** How a refusal reads to a person. Anything that is not a refusal is a bug, and says nothing. */
export function errorPage(error: unknown, { platformName, requestId, wayOn }: Circumstances): ErrorPage {
  const { status, title, body, headers = {} } = describe(error);
  return {
    status,
    headers,
    page: {
      title,
      platformName,
      width: 'narrow',
      ...(wayOn?.at && { at: wayOn.at }),
      runsScript: false,
      body: html`<div class="card"><h1>${title}</h1>${body}${error instanceof OtherBusiness && wayOn?.at && switches(wayOn.at, error)}${wayOn && linkOn(wayOn)}${status >= 500 && html`<p class="muted">If you ask for help, quote <code>${requestId}</code>.</p>`}</div>`,
    },
  };
}

function linkOn({ at }: ErrorNavigation): Html {
  return at
    ? html`<p><a href="/settings/connected-apps">Back to Connected apps</a></p>`
    : html`<p><a href="/sign-in">Sign in</a></p>`;
}

function switches({ csrf }: PageContext, { businesses, returnTo }: OtherBusiness): Html {
  return html`${businesses.map(({ businessId, businessName }) =>
    postForm({
      action: '/settings/current-business',
      csrf,
      body: html`<input type="hidden" name="business" value="${businessId}">
<input type="hidden" name="return_to" value="${returnTo}">
<p><button class="primary">Switch to ${businessName}</button></p>`,
    }),
  )}`;
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
  if (error instanceof ApiError)
    return { status: error.status, title: 'Not done', body: html`<p>${error.message}</p>` };
  if (error instanceof FormError) return { status: 400, title: 'Not done', body: html`<p>${error.message}</p>` };
  if (error instanceof TooManyRequests) {
    const headers = { 'retry-after': String(error.retryAfter) };
    return { status: 429, title: 'Too many requests', body: html`<p>${error.message}</p>`, headers };
  }
  if (error instanceof StorageUnavailable || error instanceof Overloaded) {
    const body = html`<p>Try again in a moment.</p>`;
    return { status: 503, title: 'Not available just now', body, headers: { 'retry-after': '1' } };
  }
  return describeUnreadable((error as { statusCode?: number }).statusCode ?? 500);
}

function describeUnreadable(status: number): Description {
  if (status === 404) return describe(notFound());
  if (status < 500) return { status, title: 'Not understood', body: html`<p>The request cannot be read.</p>` };
  const body = html`<p>It has been logged. Try again, or come back later.</p>`;
  return { status: 500, title: 'Something went wrong', body };
}
