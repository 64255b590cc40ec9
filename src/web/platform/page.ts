import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Action } from '../../audit/entries.ts';
import { findLastEntry } from '../../audit/log.ts';
import { type Html, html } from '../../lib/html.ts';
import { readReason } from '../../lib/names.ts';
import type { SearchTerm } from '../../storage/search.ts';
import type { Database } from '../../storage/storage.ts';
import { access } from '../access.ts';
import { emptyState } from '../components/display.ts';
import { list, pageHead, tabs } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { type Form, input, type Problem, text } from '../forms.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';

interface PlatformPage {
  context: PageContext;
  title: string;
  /** The head of a page that has a tab; the tabs are below it. */
  head?: Html;
  body: Html;
  status?: number;
}

export function sendPlatformPage(
  reply: FastifyReply,
  { platformName }: WebDeps,
  { context, title, head, body, status = 200 }: PlatformPage,
): FastifyReply {
  const whole = head ? html`${head}${platformTabs(context)}${body}` : body;
  return sendPage(reply, { title, platformName, width: 'wide', context, body: whole }, { status });
}

interface PlatformList<Item extends { id: string }> {
  path: string;
  title: string;
  intro: string;
  /** The label of the search field. */
  label: string;
  search(terms: SearchTerm): Promise<Item[]>;
  toRows(items: Item[]): Html[] | Promise<Html[]>;
}

/** A list of all items of the platform, which can be searched. */
export function mountPlatformList<Item extends { id: string }>(
  host: FastifyInstance,
  deps: WebDeps,
  { path, title, intro, label, search: find, toRows }: PlatformList<Item>,
): void {
  host.get(path, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const { search, after } = readListing(request.query);
    const { shown, next } = takePage(await find({ search, after, limit: PAGE_SIZE + 1 }));
    const nothing = search ? `Nothing found for “${search}”.` : after ? 'No more entries.' : 'No entries yet.';
    const body = html`${searchForm({ path, search, label })}
${shown.length === 0 ? emptyState({ text: nothing }) : list(await toRows(shown))}
${pager({ path, search, after }, next)}`;
    return sendPlatformPage(reply, deps, { context, title, head: pageHead({ title, intro }), body });
  });
}

const TABS = [
  { path: '/platform/apps', name: 'All apps' },
  { path: '/platform/developer/apps', name: 'First-party apps' },
  { path: '/platform/businesses', name: 'Businesses' },
  { path: '/platform/users', name: 'Users' },
  { path: '/platform/settings', name: 'Settings' },
  { path: '/platform/audit-log', name: 'Audit log' },
];

/** Below the head of each page that has a tab. */
export function platformTabs({ path: opened, menuPath = opened }: PageContext): Html {
  const [page = ''] = menuPath.split('?');
  const isHere = (path: string) => page === path || page.startsWith(`${path}/`);
  return tabs(
    'Platform',
    TABS.map(({ path, name }) => ({ to: path, name, isHere: isHere(path) })),
  );
}

export function reasonField({
  hint,
  value,
  problem,
}: {
  hint: string;
  value: string;
  problem: Problem | undefined;
}): Html {
  return input({ name: 'reason', label: 'Reason (optional)', hint, value, optional: true }, problem);
}

/** The value of `reasonField`; empty if it was left empty. */
export function readReasonField(form: Form | undefined): string {
  return readReason('reason', text(form ?? {}, 'reason'));
}

/** As a detail of an audit entry. */
export function reasonDetail(form: Form | undefined): Record<string, string> {
  const reason = readReasonField(form);
  return reason === '' ? {} : { reason };
}

/** The reason of the latest such action. */
export async function findReason(db: Database, subjectId: string, action: Action): Promise<string | undefined> {
  return (await findLastEntry(db, subjectId, action))?.detail.reason;
}

export function reasonText(reason: string | undefined): Html | undefined {
  return reason === undefined ? undefined : html`<p>Reason: ${reason}</p>`;
}
