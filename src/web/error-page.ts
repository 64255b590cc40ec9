import { FormError, TooManyRequests } from '../lib/errors.ts';
import { type Html, html } from '../lib/html.ts';
import { ApiError, OAuthError, UntrustedRequest } from '../oauth/errors.ts';
import { StorageUnavailable } from '../storage/errors.ts';
import type { Page } from './layout.ts';
import { notFound, PageRefused } from './refusals.ts';

export interface ErrorPage {
  status: number;
  headers: Record<string, string>;
  page: Page;
}

/** How a refusal reads to a person. Anything that is not a refusal is a bug, and says nothing. */
export function errorPage(
  error: unknown,
  { platformName, requestId }: { platformName: string; requestId: string },
): ErrorPage {
  const { status, title, body, headers = {} } = describe(error);
  return {
    status,
    headers,
    page: {
      title,
      platformName,
      width: 'narrow',
      body: html`<div class="card"><h1>${title}</h1>${body}${status >= 500 && html`<p class="muted">If you ask for help, quote <code>${requestId}</code>.</p>`}</div>`,
    },
  };
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
  if (error instanceof PageRefused) {
    return { status: error.status, title: error.title, body: html`<p>${error.message}</p>` };
  }
  if (error instanceof ApiError)
    return { status: error.refusal.status, title: 'Not done', body: html`<p>${error.message}</p>` };
  if (error instanceof OAuthError) return { status: 400, title: 'Not done', body: html`<p>${error.message}</p>` };
  if (error instanceof FormError) return { status: 400, title: 'Not done', body: html`<p>${error.message}</p>` };
  if (error instanceof TooManyRequests) {
    const headers = { 'retry-after': String(error.retryAfter) };
    return { status: 429, title: 'Too many requests', body: html`<p>${error.message}</p>`, headers };
  }
  if (error instanceof StorageUnavailable) {
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
