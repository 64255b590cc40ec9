import { STATUS_CODES } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { errorUri } from '../../http/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
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
  const { method, route, status, at, took, requestId, grantType, businessName, businessId } = request;
  const body = facts({
    Status: statusDot(`${status} ${STATUS_CODES[status] ?? ''}`, toneOf(status)),
    Time: preciseTime(at),
    Duration: duration(took),
    'Request ID': copyable('request-id', requestId),
    'Grant type': grantType && html`<code>${grantType}</code>`,
    Business: businessName,
    'Business ID': businessId && copyable('business-id', businessId),
  });
  return html`<section class="card"><h2 class="title"><code>${method} ${route}</code></h2>
${body}
<p class="muted small">The path is that of the route. Parameters, bodies, tokens, codes and secrets are not stored.</p></section>
${errorSection(request, issuer)}`;
}

function errorSection({ reason, route }: LoggedRequest, issuer: string): Html | false {
  if (reason === null) return false;
  const known = explainReason(reason, route);
  if (!known) return card({ title: 'Why it was rejected', body: facts({ Reason: html`<code>${reason}</code>` }) });
  const { code, meaning, words } = known;
  return card({
    title: 'Why it was rejected',
    body: html`<p>${prose(words)}</p>
${facts({
  Error: html`<code>${code}</code> <span class="muted">${prose(meaning)}</span>`,
  Reason: reason !== code && html`<code>${reason}</code>`,
})}
<p><a class="button" href="${errorUri(issuer, code, reason)}">Read about ${reason}</a></p>`,
  });
}

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
