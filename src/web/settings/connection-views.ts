import type { Connection } from '../../grants/connections.ts';
import { boundBusiness } from '../../grants/tenancy.ts';
import { type Html, html } from '../../lib/html.ts';
import { appAvatar, verifiedBadge } from '../app-identity-views.ts';
import { badge, statusDot } from '../components/display.ts';
import { dialog } from '../components/popover.ts';
import { appBadges } from '../components/product.ts';
import { day } from '../days.ts';
import { postForm, time } from '../forms.ts';
import { connectedAppsPath, connectionPath, disconnectPath } from './disconnecting.ts';

export interface Viewer {
  userId: string;
  /** Whether they own the business. */
  isOwner: boolean;
  csrf: string;
  /** The business that the page is about. A row names another one only. */
  businessId?: string;
}

/** One line per connection; the name of the app leads to its page. */
export function connectionRows(connections: Connection[], viewer: Viewer): Html[] {
  const sorted = connections.toSorted((a, b) => a.app.name.localeCompare(b.app.name));
  return sorted.map((connection) => connectionRow(connection, viewer));
}

function connectionRow(connection: Connection, viewer: Viewer): Html {
  const { app, business, user } = connection;
  const label = `${app.name}, ${user.name}, ${business.name}`;
  return html`<li class="entry">${appAvatar(app)}<div><a href="${connectionPath(connection)}" aria-label="${label}">${app.name}</a> ${appBadges(app)} ${verifiedBadge(app)} ${isAssistant(connection) && assistantBadge}
<p class="muted small">${connectedForText(connection, viewer)}</p></div>
<div class="meta muted small">${statusText(connection)}<span>${lastUse(connection)}</span></div>
${disconnectButton(connection, viewer)}</li>`;
}

/** An app that is not registered here can only connect to an MCP server. */
export function isAssistant({ app, resources }: Connection): boolean {
  return app.ownerScope === 'external' || resources.length > 0;
}

export const assistantBadge = badge('AI assistant');

function statusText(connection: Connection): Html {
  if (suspendedReason(connection, '')) return statusDot('No access', 'warn');
  if (!connection.isLive) return statusDot('No access now', 'caution');
  const { expiresAt } = connection;
  return html`<span class="dot good">${expiresAt === null ? 'Until disconnected' : html`<span>Until ${day(expiresAt)}</span>`}</span>`;
}

/** Why the app has no access for any user of the business. */
export function suspendedReason({ app, business }: Connection, platformName: string): string | undefined {
  const bound = boundBusiness(app);
  if (app.pausedAt !== null) {
    return `${platformName} has paused this app everywhere. Until it is resumed, it has no access.`;
  }
  if (app.disabledAt !== null) return 'Its developer has disabled this app. Until it is enabled, it has no access.';
  if (bound === null || bound === business.id) return undefined;
  return 'Its developer has closed this app to other businesses. It has no access now.';
}

export function connectedForText({ user, business, connectedFor }: Connection, viewer: Viewer): Html {
  const you = user.id === viewer.userId && badge('You');
  if (connectedFor === 'user')
    return html`<strong>${user.name}</strong> ${business.id !== viewer.businessId && `in ${business.name}`} ${you}`;
  return html`<strong>For ${business.name}</strong>, responsible: ${user.name} ${you}`;
}

/** Fetching tokens uses no scope, so it is not in the usage counts either. */
function lastUse({ lastUsedAt, tokensFetchedAt }: Connection): Html {
  if (lastUsedAt !== null) return html`Last used ${time(lastUsedAt)}`;
  if (tokensFetchedAt !== null) return html`Last fetched tokens ${time(tokensFetchedAt)}`;
  return html`Not used lately`;
}

/** It asks first: in a dialog, or on a page of its own if the app is connected by another person. */
export function disconnectButton({ app, user, business }: Connection, viewer: Viewer): Html | null {
  if (user.id !== viewer.userId && !viewer.isOwner) return null;
  if (user.id !== viewer.userId) {
    return html`<a class="button danger" href="${disconnectPath(business, app, user)}" aria-label="Disconnect ${app.name} for ${user.name}">Disconnect…</a>`;
  }
  const form = {
    action: `${connectedAppsPath({ businessId: business.id })}/disconnect`,
    csrf: viewer.csrf,
    body: html`<input type="hidden" name="app" value="${app.id}"><button class="danger">Disconnect</button>`,
  };
  const confirmation = dialog({
    id: `disconnect-${app.id}-${business.id}`,
    open: 'Disconnect…',
    label: `Disconnect ${app.name} from ${business.name}`,
    title: `Disconnect ${app.name}?`,
    text: `It loses its access to ${business.name} at once. You can allow it again.`,
    action: postForm(form),
  });
  return html`<div>${confirmation}</div>`;
}
