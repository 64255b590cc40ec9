import type { App } from '../../apps/apps.ts';
import { type Html, html } from '../../lib/html.ts';
import { appBadges } from '../components.ts';
import type { AppSection, Entry } from './section.ts';

type AppTab = 'Settings' | 'Requests' | 'Connections' | 'Webhooks' | 'Try it';

/** Its name, and the way around its pages. Those who may not change the app have no business with the last two. */
export function appHead(section: AppSection, entry: Entry, app: App, here: AppTab): Html {
  const path = `${section.path}/${app.id}`;
  const tabs = [
    { name: 'Settings', to: path },
    { name: 'Requests', to: `${path}/requests` },
    { name: 'Connections', to: `${path}/connections` },
    ...(entry.canChange ? [{ name: 'Webhooks', to: `${path}/endpoints` }] : []),
    ...(entry.canChange ? [{ name: 'Try it', to: `${path}/try` }] : []),
  ];
  return html`<p><a href="${section.path}">${section.title}</a></p>
<h1>${app.name} ${badgesOf(app)}</h1>
<nav class="tabs" aria-label="${app.name}"><ul>
${tabs.map(({ name, to }) => html`<li><a href="${to}" ${name === here && html`aria-current="page"`}>${name}</a></li>`)}
</ul></nav>`;
}

/** And to whom it is open. */
export function badgesOf(app: App): Html {
  return html`${app.openToAnyBusiness && html`<span class="badge">Any business</span>`}
${appBadges(app)}`;
}
