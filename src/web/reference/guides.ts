import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../lib/html.ts';
import { PACKAGE_ROOT } from '../../lib/package.ts';
import { notFound } from '../errors.ts';
import { sendPage } from '../layout.ts';
import { documentationLinks } from './links.ts';

const PAGE = { schema: { hide: true } };
export const GUIDES = '/docs/guides';

/** The Markdown files of the repository that are served. The guides link to the others. */
const FOLDERS = ['guides', 'reference', 'decisions', 'sdk'] as const;

/** In the order in which an app's developer needs them; others follow by name. */
const ORDER = [
  'connect-your-app',
  'connect-with-your-framework',
  'refresh-without-losing-anyone',
  'receive-webhooks',
  'protect-your-own-api',
  'connect-an-assistant',
  'build-an-agent',
  'test-your-integration',
  'bring-your-data',
  'run-in-production',
];

/** Guides that have a new name. Links to the old address still work. */
const RENAMED = new Map([[`${GUIDES}/decide-which-apps-come-in`, `${GUIDES}/decide-which-apps-may-connect`]]);

interface Guide {
  /** The path in the repository. */
  file: string;
  path: string;
  title: string;
  intro: string;
  body: Html;
}

/** Serves the guides of docs/ on the API host. All are rendered on the first request and cached. */
export function mountGuides(host: FastifyInstance, { platformName }: { platformName: string }): void {
  let rendered: Promise<Map<string, Guide>> | undefined;
  const readAll = () => {
    rendered ??= renderAll();
    return rendered;
  };

  const frame = { platformName, width: 'wide' as const, links: documentationLinks(GUIDES) };

  host.get(GUIDES, PAGE, async (_, reply) => {
    const guides = listGuides(await readAll());
    return sendPage(reply, { ...frame, title: 'Guides', body: withContents([], listBody(guides)) });
  });

  for (const folder of FOLDERS) {
    host.get<{ Params: { name: string } }>(`/docs/${folder}/:name`, PAGE, async (request, reply) => {
      const address = `/docs/${folder}/${request.params.name}`;
      const renamed = RENAMED.get(address);
      if (renamed) return reply.redirect(renamed, 301);
      const all = await readAll();
      const guide = all.get(address);
      if (!guide) throw notFound();
      const { title, path } = guide;
      const body = withContents(listGuides(all), html`<article class="card guide">${guide.body}</article>`, path);
      return sendPage(reply, { ...frame, title, body });
    });
  }
}

/** Loads the Markdown parser on first use, which keeps the start fast. */
async function renderAll(): Promise<Map<string, Guide>> {
  const { introOf, renderMarkdown, titleOf } = await import('./markdown.ts');
  const served = new Map(FOLDERS.flatMap(listFiles));
  const guides = [...served].map(([file, path]): [string, Guide] => {
    const source = readFileSync(new URL(file, PACKAGE_ROOT), 'utf8');
    const body = renderMarkdown(source, (href) => addressOf(file, href, served));
    return [path, { file, path, title: titleOf(source), intro: introOf(source), body }];
  });
  return new Map(guides);
}

/** Each file with the path that serves it. */
function listFiles(folder: (typeof FOLDERS)[number]): [file: string, path: string][] {
  if (folder === 'sdk') {
    return ['typescript', 'python', 'guard'].map((name) => [`sdk/${name}/README.md`, `/docs/sdk/${name}`]);
  }
  const files = readdirSync(new URL(`docs/${folder}/`, PACKAGE_ROOT)).filter((name) => name.endsWith('.md'));
  return files.map((name) => [`docs/${folder}/${name}`, `/docs/${folder}/${name.slice(0, -'.md'.length)}`]);
}

function addressOf(from: string, href: string, served: ReadonlyMap<string, string>): string | undefined {
  const [path = '', fragment] = href.split('#');
  const address = served.get(posix.join(posix.dirname(from), path));
  return address && (fragment ? `${address}#${fragment}` : address);
}

function listGuides(all: ReadonlyMap<string, Guide>): Guide[] {
  const rank = ({ path }: Guide) => (ORDER.indexOf(path.slice(GUIDES.length + 1)) + ORDER.length) % ORDER.length;
  const guides = [...all.values()].filter(({ path }) => path.startsWith(`${GUIDES}/`));
  return guides.toSorted((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

/** The list of guides repeats none of them in its menu, which is folded on a phone. */
function withContents(guides: Guide[], content: Html, here?: string): Html {
  return html`<div class="reference">
<nav class="contents" aria-label="Contents"><details><summary>${guides.length > 0 ? 'Guides and more' : 'More'}</summary>
${
  guides.length > 0 &&
  html`<p class="muted small">Guides</p>
<ul>${guides.map(({ path, title }) => html`<li><a href="${path}" ${path === here && html`aria-current="page"`}>${title}</a></li>`)}</ul>`
}
<p class="muted small">More</p>
<ul><li><a href="/docs">API reference</a></li><li><a href="/docs/errors">Errors</a></li><li><a href="/docs/sdk/typescript">TypeScript client</a></li><li><a href="/docs/sdk/python">Python client</a></li><li><a href="/docs/sdk/guard">Guard for your own API</a></li></ul>
</details></nav>
<div>${content}</div></div>`;
}

function listBody(guides: Guide[]): Html {
  const rows = guides.map(
    ({ path, title, intro }) => html`<li><div><a href="${path}">${title}</a><p class="muted">${intro}</p></div></li>`,
  );
  return html`<section><h1>Guides</h1></section><section class="card"><ul class="rows">${rows}</ul></section>`;
}
