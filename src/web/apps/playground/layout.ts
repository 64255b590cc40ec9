import type { App } from '../../../apps/apps.ts';
import { type Html, html } from '../../../lib/html.ts';
import { type AppSection, appHead, type Viewer } from '../app-page.ts';
import type { StepName } from './steps.ts';

/** What every playground page needs. */
export interface Playground {
  section: AppSection;
  viewer: Viewer;
  app: App;
  /** The page of the app. */
  path: string;
  issuer: string;
  /** Whether there are invoices to list. */
  servesResources: boolean;
  /** The redirect URI of the playground itself. */
  returnAddress: string;
}

const STAGES: [name: string, steps: (StepName | 'authorize')[]][] = [
  ['Authorize', ['authorize']],
  ['Exchange', ['exchange']],
  ['Call the API', ['businesses', 'invoices']],
  ['Refresh', ['refresh']],
  ['Revoke', ['revoke']],
];

/** The app's tabs, the stages and the page below them. */
export function frame({ section, viewer, app }: Playground, at: StepName | 'authorize', body: Html): Html {
  return html`${appHead(section, viewer, app, 'Try it')}
<ol class="stages" aria-label="Steps">${STAGES.map(([name, steps]) => html`<li class="stage" ${steps.includes(at) && html`aria-current="step"`}>${name}</li>`)}</ol>
${body}`;
}
