import { STATUS_CODES } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { RedirectDifference } from '../../apps/redirect-uri-differences.ts';
import { errorUri } from '../../http/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { SCOPES } from '../../oauth/scopes.ts';
import { findRequest, type LoggedRequest } from '../../request-log/log.ts';
import { statusDot } from '../components/display.ts';
import { duration, facts } from '../components/log.ts';
import { prose } from '../components/product.ts';
import { section as card } from '../components/structure.ts';
import { notFound } from '../errors.ts';
import { copyable, preciseTime } from '../forms.ts';
import { ERROR_CODES, explainError } from '../reference/error-guide.ts';
import { type AppPages, appHead } from './app-page.ts';
import { toneOf } from './app-requests.ts';

type ForRequest = { Params: { id: string; request: string } };

/** One request of the log of an app. */
export function mountAppRequest(host: FastifyInstance, pages: AppPages): void {
  const { section, show, loadApp, db, issuer } = pages;
  host.get<ForRequest>(`${section.route}/:id/requests/:request`, section.view, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const { request: id } = request.params;
    const logged = isId(id) ? await findRequest(db, app.id, id) : undefined;
    if (!logged) throw notFound();
    const back = { to: `${path}/requests`, name: 'Requests' };
    const head = appHead(section, viewer, app, { here: 'Requests', back });
    return show(reply, viewer, { title: `Request · ${app.name}`, body: html`${head}${requestBody(logged, issuer)}` });
  });
}

function requestBody(request: LoggedRequest, issuer: string): Html {
  const { method, route, status, at, took, requestId, grantType, businessName, businessId, rejected } = request;
  const body = facts({
    Status: statusDot(`${status} ${STATUS_CODES[status] ?? ''}`, toneOf(request)),
    Time: preciseTime(at),
    Duration: duration(took),
    'Request ID': copyable('request-id', requestId),
    'Grant type': grantType && html`<code>${grantType}</code>`,
    Parameter: rejected && html`<code>${rejected.name}</code>`,
    'Origin of the redirect URI': rejected?.redirectOrigin && html`<code>${rejected.redirectOrigin}</code>`,
    Business: businessName,
    'Business ID': businessId && copyable('business-id', businessId),
  });
  return html`<section class="card"><h2 class="title"><code>${method} ${route}</code></h2>
${body}
<p class="muted small">The path is that of the route. Parameters, bodies, tokens, codes and secrets are not stored.</p></section>
${errorSection(request, issuer)}`;
}

function errorSection({ reason, route, rejected }: LoggedRequest, issuer: string): Html | false {
  if (reason === null) return false;
  const known = explainReason(reason, route);
  if (!known) return card({ title: 'Why it was rejected', body: facts({ Reason: html`<code>${reason}</code>` }) });
  const hint = Object.entries(HINTS).find(([difference]) => difference === rejected?.difference)?.[1];
  const { code, meaning, words } = known;
  return card({
    title: 'Why it was rejected',
    body: html`${hint && html`<p>${prose(hint)}</p>`}<p>${prose(words)}</p>
${facts({
  Error: html`<code>${code}</code> <span class="muted">${prose(meaning)}</span>`,
  Reason: reason !== code && html`<code>${reason}</code>`,
  'Existing scopes': reason === 'scope_unknown' && html`<code>${SCOPES.map(({ name }) => name).join(' ')}</code>`,
})}
<p><a class="button" href="${errorUri(issuer, code, reason)}">Read about ${reason}</a></p>`,
  });
}

const HINTS: Record<RedirectDifference, string> = {
  loopback_host:
    'The app has this address registered with another name of the same computer. `localhost`, `127.0.0.1` and `[::1]` are ' +
    'different hosts: send the registered one, or register this one, too.',
  scheme: 'The app has this address registered with `http` in place of `https`, or with `https` in place of `http`.',
  port: 'The app has this address registered with another port, or without one.',
  trailing_slash: 'The app has this address registered, but only one of the two ends with a slash.',
  query: 'The app has this address registered with another query, or without one.',
  path: 'The app has an address with this origin registered, but with another path.',
};

interface ExplainedReason {
  code: string;
  meaning: string;
  words: string;
}

/** From the error reference. Some reasons belong to two errors; the route decides which. */
function explainReason(reason: string, route: string): ExplainedReason | undefined {
  const codes = ERROR_CODES.filter((code) => Object.hasOwn(explainError(code)?.reasons ?? {}, reason));
  const usual = route.startsWith('/api/v1/oauth/') ? 'invalid_grant' : 'invalid_token';
  const code = codes.includes(usual) ? usual : codes[0];
  const explanation = code && explainError(code);
  if (!code || !explanation) return undefined;
  return { code, meaning: explanation.meaning, words: explanation.reasons[reason] ?? '' };
}
