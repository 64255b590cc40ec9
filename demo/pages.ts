import type { Business, Invoice, Tokens, WebhookEvent } from '../sdk/typescript/src/index.ts';
import { type Html, html } from '../src/lib/html.ts';

/** What differs between the two demo apps. */
export interface Branding {
  id: string;
  name: string;
  tagline: string;
  about: string;
}

export function welcomePage(branding: Branding, events: readonly WebhookEvent[]): Html {
  return page(
    branding,
    html`<p class="lead">${branding.tagline}</p><p>${branding.about}</p><p><a class="go" href="/connect">Connect to Gatehouse</a></p>${eventSection(events)}`,
  );
}

export function errorPage(branding: Branding, message: string): Html {
  return page(
    branding,
    html`<p class="lead">Not connected</p><p>${message}</p><p><a class="go" href="/connect">Connect to Gatehouse</a></p>`,
  );
}

interface Connected {
  business: Business;
  invoices: Invoice[];
  tokens: Tokens;
  refreshes: number;
  events: readonly WebhookEvent[];
}

export function connectedPage(branding: Branding, { business, invoices, tokens, refreshes, events }: Connected): Html {
  return page(
    branding,
    html`<p class="lead">The newest invoices of ${business.name}</p>
<div class="scroll"><table><thead><tr><th>Number</th><th>Status</th><th class="amount">Total</th></tr></thead><tbody>
${invoices.map(({ number, status, total, currency }) => html`<tr><td>${number}</td><td>${status}</td><td class="amount">${total} ${currency}</td></tr>`)}
</tbody></table></div>
<dl><dt>Access token</dt><dd>gat_…${tokens.accessToken.slice(-4)}, until ${tokens.expiresAt.slice(11, 16)} UTC</dd>
<dt>Refresh token</dt><dd>grt_…${tokens.refreshToken.slice(-4)}, replaced ${refreshes} ${refreshes === 1 ? 'time' : 'times'}</dd>
<dt>Scopes</dt><dd>${tokens.scopes.join(' ')}</dd></dl>
<div class="row"><form method="post" action="/refresh"><button>Refresh the tokens</button></form>
<form method="post" action="/disconnect"><button>Disconnect</button></form></div>${eventSection(events)}`,
  );
}

function eventSection(events: readonly WebhookEvent[]): Html | false {
  const row = ({ type, timestamp }: WebhookEvent) => html`<dt>${timestamp.slice(11, 19)} UTC</dt><dd>${type}</dd>`;
  return events.length > 0 && html`<h2>Received by webhook</h2><dl>${events.map(row)}</dl>`;
}

function page(branding: Branding, body: Html): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${branding.name}</title><style>${styles}</style></head>
<body><header><h1>${branding.name}</h1><span>demo app</span></header><main>${body}</main></body></html>`;
}

const styles = html`
body { margin: 0; font: 17px/1.55 Georgia, serif; background: #fbf7ef; color: #2b2620; }
header { display: flex; gap: 1rem; align-items: baseline; padding: 1rem 1.5rem; background: #23443b; color: #fbf7ef; }
h1 { margin: 0; font-size: 1.4rem; }
main { max-width: 40rem; margin: 2rem auto; padding: 0 1.5rem; }
.lead { font-size: 1.5rem; margin: 0 0 .5rem; }
.go, button { display: inline-block; padding: .6rem 1.2rem; border: 0; border-radius: 6px; background: #23443b; color: #fff; font: inherit; text-decoration: none; cursor: pointer; }
.row { display: flex; gap: .75rem; flex-wrap: wrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid #ddd2bd; }
.amount { text-align: right; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; }
dt { color: #6b5f4d; } dd { margin: 0; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #1d1a16; color: #efe7d8; } th, td { border-color: #463d30; } dt { color: #b9ab93; } }
`;
