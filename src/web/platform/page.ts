import type { FastifyReply } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import type { WebDeps } from '../deps.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { type Listing, pager, searchForm } from '../listing.ts';
import { platformTabs } from './tabs.ts';

interface PlatformPage {
  context: PageContext;
  title: string;
  body: Html;
  status?: number;
}

export function sendPlatformPage(
  reply: FastifyReply,
  { platformName }: WebDeps,
  { context, title, body, status = 200 }: PlatformPage,
): FastifyReply {
  const page = { title, platformName, width: 'wide' as const, context, body: html`${platformTabs(context)}${body}` };
  return sendPage(reply, page, { status });
}

interface LongList extends Listing {
  path: string;
  title: string;
  /** What can be searched for, in words. */
  label: string;
  rows: Html[];
  next: string | undefined;
}

/** One page of everything there is of a kind. */
export function longList({ title, label, rows, next, ...listing }: LongList): Html {
  const { search, after, path } = listing;
  const nothing = search
    ? `Nothing found for “${search}”.`
    : after
      ? 'There is nothing more.'
      : 'There is nothing yet.';
  return html`<h1>${title}</h1>
${searchForm({ path, search, label })}
${rows.length === 0 && html`<p class="empty">${nothing}</p>`}
${rows.length > 0 && html`<div class="card"><ul class="rows">${rows}</ul></div>`}
${pager(listing, next)}`;
}
