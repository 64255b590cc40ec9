import type { Member } from '../../accounts/memberships.ts';
import type { Connection } from '../../grants/connections.ts';
import type { RemovalChoice } from '../../grants/member-changes.ts';
import { canConnectForBusiness } from '../../grants/transfers.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { formatScopes, parseScopes } from '../../lib/scope-lists.ts';
import { listScopes } from '../../oauth/scopes.ts';
import { type Form, type Problem, problemText, text } from '../forms.ts';
import type { MembersContext } from './members.ts';

const CHOICE = 'connection.';
const SHOWN_SCOPES = 'scopes.';

interface Removal {
  member: Member;
  connections: Connection[];
  problem: Problem | undefined;
}

/** What happens to the connections of a member whom an owner removes. */
export function removalChoices(context: MembersContext, { member, connections, problem }: Removal): Html {
  const { businessName } = context.business;
  if (connections.length === 0) return html`<p>No app acts for ${member.name} in ${businessName}.</p>`;
  return html`<p>Choose what happens to the apps that ${member.name} connected to ${businessName}.</p>
${problem?.field === 'connections' && html`<div class="notice warn" role="alert">${problemText(problem)}</div>`}
${connections.map((connection) => choice(context, member, connection))}`;
}

function choice({ business: { businessName } }: MembersContext, member: Member, connection: Connection): Html {
  const { app, scopes } = connection;
  const isForBusiness = connection.connectedFor === 'business';
  const option = (value: 'end' | 'take_over', label: string, hint: string) => {
    const isDefault = isForBusiness === (value === 'take_over');
    return html`<label class="choice"><input type="radio" name="${CHOICE}${app.id}" value="${value}" ${isDefault && html`checked`}><span><strong>${label}</strong><br><span class="muted small">${hint}</span></span></label>`;
  };
  return html`<fieldset class="field"><legend>${app.name} ${isForBusiness && html`<span class="badge">For ${businessName}</span>`}</legend>
<ul class="scopes">${listScopes(scopes).map(({ meaning }) => html`<li>${meaning}</li>`)}</ul>
${
  canConnectForBusiness(app)
    ? html`<input type="hidden" name="${SHOWN_SCOPES}${app.id}" value="${formatScopes(scopes)}">
${option('end', 'Disconnect', `${app.name} loses its access at once. Choose this if ${member.name} runs the app, or uses it with a personal account: through it, they could still reach the data of ${businessName}.`)}
${option('take_over', `Keep it for ${businessName}`, 'It stays connected, and you become responsible for it. The app sees your name and email address.')}`
    : html`<p class="muted small">It is disconnected: its tokens are on a device or in an account of ${member.name}.</p>`
}
</fieldset>`;
}

export function readRemovalChoices(form: Form): RemovalChoice[] {
  return Object.keys(form).flatMap((name) => {
    const appId = name.slice(CHOICE.length);
    if (!name.startsWith(CHOICE) || !isId(appId)) return [];
    const scopes = parseScopes(text(form, `${SHOWN_SCOPES}${appId}`));
    return [{ appId, isTakenOver: text(form, name) === 'take_over', scopes }];
  });
}

interface Leaving {
  connections: Connection[];
  /** Who is responsible for the connections of the business then. */
  successor: Member | undefined;
}

/** What happens to the connections of a member who leaves. */
export function leavingConnections(
  { business: { businessName } }: MembersContext,
  { connections, successor }: Leaving,
): Html {
  const isMoved = ({ connectedFor }: Connection) => successor !== undefined && connectedFor === 'business';
  const [moved, ended] = [connections.filter(isMoved), connections.filter((each) => !isMoved(each))];
  return html`${
    ended.length > 0
      ? html`<p>These apps act for you in ${businessName}, and lose their access at once:</p>${names(ended)}`
      : html`<p>No app loses access to ${businessName}.</p>`
  }
${moved.length > 0 && html`<p>These apps are connected for ${businessName}. They stay, and ${successor?.name} becomes responsible for them:</p>${names(moved)}`}`;
}

const MAX_NAMED = 20;

function names(connections: Connection[]): Html {
  const more = connections.length - MAX_NAMED;
  return html`<ul>${connections.slice(0, MAX_NAMED).map(({ app }) => html`<li>${app.name}</li>`)}${more > 0 && html`<li>and ${String(more)} more</li>`}</ul>`;
}
