import { lexer, type Token, type Tokens } from 'marked';
import { type Html, html } from '../../lib/html.ts';

/** The URL of a relative link; undefined if its target is not served. */
type LinkResolver = (href: string) => string | undefined;

interface Rendering {
  resolve: LinkResolver;
  /** The ids of the headings so far. */
  ids: Set<string>;
}

/**
 * `marked` only splits the text into tokens. The tags are ours, so everything else is escaped: raw HTML and unknown
 * tokens are shown as text.
 */
export function renderMarkdown(source: string, resolve: LinkResolver): Html {
  return blocks(lexer(source), { resolve, ids: new Set() });
}

/** The text of the first heading. */
export function titleOf(source: string): string {
  const heading = lexer(source).find(({ type }) => type === 'heading');
  return heading ? plainText((heading as Tokens.Heading).tokens) : '';
}

/** The text of the first paragraph. */
export function introOf(source: string): string {
  const paragraph = lexer(source).find(({ type }) => type === 'paragraph');
  return paragraph ? plainText((paragraph as Tokens.Paragraph).tokens) : '';
}

function blocks(tokens: Token[], rendering: Rendering): Html {
  return html`${tokens.map((token) => block(token, rendering))}`;
}

function block(token: Token, rendering: Rendering): Html | string {
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'heading':
      return heading(token as Tokens.Heading, rendering);
    case 'paragraph':
      return html`<p>${inlines(token.tokens ?? [], rendering)}</p>`;
    case 'code':
      return html`<pre class="sample" tabindex="0"><code>${token.text}</code></pre>`;
    case 'blockquote':
      return html`<blockquote>${blocks(token.tokens ?? [], rendering)}</blockquote>`;
    case 'hr':
      return html`<hr>`;
    case 'list':
      return list(token as Tokens.List, rendering);
    case 'table':
      return table(token as Tokens.Table, rendering);
    default:
      return inline(token, rendering);
  }
}

function heading({ depth, tokens }: Tokens.Heading, rendering: Rendering): Html {
  const id = newId(plainText(tokens), rendering.ids);
  const content = inlines(tokens, rendering);
  if (depth === 1) return html`<h1 id="${id}">${content}</h1>`;
  return depth === 2 ? html`<h2 id="${id}">${content}</h2>` : html`<h3 id="${id}">${content}</h3>`;
}

/** As GitHub does, so that a link to a heading works in both places. */
function newId(text: string, ids: Set<string>): string {
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
  let id = slug;
  for (let i = 1; ids.has(id); i++) id = `${slug}-${i}`;
  ids.add(id);
  return id;
}

function list({ ordered, items }: Tokens.List, rendering: Rendering): Html {
  const rows = items.map(({ tokens }) => html`<li>${blocks(tokens, rendering)}</li>`);
  return ordered ? html`<ol>${rows}</ol>` : html`<ul>${rows}</ul>`;
}

/** Wide tables scroll, also with the keyboard. */
function table({ header, rows }: Tokens.Table, rendering: Rendering): Html {
  const head = header.map(({ text, tokens }) =>
    text === '' ? html`<td></td>` : html`<th scope="col">${inlines(tokens, rendering)}</th>`,
  );
  const body = rows.map(
    (row) => html`<tr>${row.map(({ tokens }) => html`<td>${inlines(tokens, rendering)}</td>`)}</tr>`,
  );
  return html`<div class="table" role="group" aria-label="Table" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function inlines(tokens: Token[], rendering: Rendering): Html {
  return html`${tokens.map((token) => inline(token, rendering))}`;
}

function inline(token: Token, rendering: Rendering): Html | string {
  switch (token.type) {
    case 'strong':
      return html`<strong>${inlines(token.tokens ?? [], rendering)}</strong>`;
    case 'em':
      return html`<em>${inlines(token.tokens ?? [], rendering)}</em>`;
    case 'codespan':
      return html`<code>${token.text}</code>`;
    case 'br':
      return html`<br>`;
    case 'link':
      return link(token as Tokens.Link, rendering);
    case 'escape':
      return token.text;
    case 'text':
      return token.tokens ? inlines(token.tokens, rendering) : token.text;
    default:
      return token.raw;
  }
}

function link({ href, tokens }: Tokens.Link, rendering: Rendering): Html {
  const target = /^(?:https?:\/\/|#)/.test(href) ? href : rendering.resolve(href);
  const content = inlines(tokens, rendering);
  return target === undefined ? content : html`<a href="${target}">${content}</a>`;
}

function plainText(tokens: Token[]): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens ? plainText(token.tokens) : 'text' in token ? token.text : ''))
    .join('');
}
