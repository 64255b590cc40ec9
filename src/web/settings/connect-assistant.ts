import type { FastifyInstance } from 'fastify';
import type { Membership } from '../../accounts/memberships.ts';
import { type Html, html } from '../../lib/html.ts';
import { mcpResource, resourceUri } from '../../oauth/resource-indicators.ts';
import { access } from '../access.ts';
import { businessPath } from '../business-address.ts';
import { emptyState, notice } from '../components/display.ts';
import { pageHead, settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { copyable } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { ASSISTANTS, type Assistant, canConnectUnregistered, canReach } from './assistants.ts';
import { CONNECTED_APPS, connectedAppsPath } from './disconnecting.ts';
import { loadMembersContext } from './members.ts';

const TITLE = 'Connect an assistant';

export function mountConnectAssistant(host: FastifyInstance, deps: WebDeps): void {
  const { platformName } = deps;

  host.get(`${CONNECTED_APPS}/assistant`, access('member'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const body = html`${pageHead({
      title: TITLE,
      intro: `An AI assistant can read and change the records of ${context.business.businessName} for you, within what you allow.`,
      back: { to: connectedAppsPath(context.business), name: 'Connected apps' },
    })}
${deps.servesMcp ? guide(deps, context.business) : switchedOff(platformName)}`;
    return sendPage(reply, { title: TITLE, platformName, width: 'wide', context, body });
  });
}

function switchedOff(platformName: string): Html {
  return emptyState({
    icon: 'bot',
    text: `Assistants cannot connect here: the operator of ${platformName} has switched this off. Apps can still be connected as before.`,
  });
}

function guide(deps: WebDeps, business: Membership): Html {
  const address = resourceUri(deps.issuer, mcpResource(business.businessId));
  return html`${addresses(deps, business, address)}
<ul class="cards assistants">${ASSISTANTS.map((assistant) => steps(deps, business, { assistant, address }))}</ul>
${abilities(deps, business)}`;
}

function addresses({ issuer }: WebDeps, { businessName }: Membership, address: string): Html {
  const body = html`<dl class="facts">
<div><dt>For ${businessName}</dt><dd>${copyable('business-address', address)}</dd></div>
<div><dt>For a business that you choose later</dt><dd>${copyable('any-address', resourceUri(issuer, mcpResource()))}</dd></div>
</dl>`;
  return settings({
    title: 'The address',
    intro:
      'Each business has its own address, so that you can connect several side by side in one assistant, and disconnect each by itself. With the other address, you choose the business when you allow the assistant.',
    body,
  });
}

interface Connecting {
  assistant: Assistant;
  address: string;
}

function steps(deps: WebDeps, business: Membership, { assistant, address }: Connecting): Html {
  const { name } = assistant;
  return html`<li class="card"><h2>${name}</h2>
${!canReach(assistant, deps) && notice(`${name} calls from the servers of its maker and cannot reach this one, which runs on your own computer. Programs on this computer can, like VS Code, Cursor and Claude Code.`)}
${!canConnectUnregistered(assistant, deps) && html`<p class="notice">${name} cannot connect automatically: it has to be registered here first. An admin can register it as a public app under <a href="${businessPath(business, 'developer')}">Developer</a>. Then enter the client_id in ${name}: ${assistant.clientIdSetting}.</p>`}
<ol class="steps close">${assistant.steps(address).map((step) => html`<li>${step}</li>`)}</ol>
</li>`;
}

function abilities({ issuer }: WebDeps, business: Membership): Html {
  const { businessName } = business;
  const body = html`<p>It acts as you, in one business, and can do only what you allow: the screen that asks you lists what it may see and what it may change. If it needs more later, you are asked again. It never sees your password.</p>
<p>What an assistant reads from ${businessName} is sent to its maker. Connect those that you trust with it.</p>
<p>Under <a href="${connectedAppsPath(business)}">Connected apps</a> you see what each assistant has done, and disconnect it. That ends its access at once.</p>
<p class="muted small">Menus of assistants change: look for a custom connector, an app or an MCP server. <a href="${issuer}/docs/guides/connect-an-assistant">The guide</a> has more, and <a href="${issuer}/docs/reference/mcp">the reference</a> lists every tool.</p>`;
  return settings({ title: 'What it can do', intro: 'What to know before you connect one.', body });
}
