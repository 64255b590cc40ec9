import type { App } from '../../../apps/apps.ts';
import { type Html, html } from '../../../lib/html.ts';
import { icon } from '../../components/icon.ts';
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

interface Progress {
  step: StepName | 'authorize';
  /** The steps that have succeeded: those after this one, too, if it is repeated. */
  done?: readonly StepName[] | undefined;
}

/** The app's tabs, the stages and the page below them. */
export function frame({ section, viewer, app }: Playground, { step, done = [] }: Progress, body: Html): Html {
  const here = STAGES.findIndex(([, steps]) => steps.includes(step));
  const stages = STAGES.map(([name, steps], index) => {
    const isPast = index < here || done.some((each) => steps.includes(each));
    return html`<li class="${isPast ? 'stage past' : 'stage'}" ${index === here && html`aria-current="step"`}>${isPast && html`${icon('check')}<span class="visually-hidden">Done: </span>`}${name}</li>`;
  });
  return html`${appHead(section, viewer, app, { here: 'Try it' })}
<ol class="stages" aria-label="Steps">${stages}</ol>
${body}`;
}
