const markup = Symbol('markup');

/** Only the `html` tag can create it, so everything on a page is escaped. */
export interface Html {
  readonly [markup]: string;
}

type Value = Html | string | number | null | undefined | false | readonly Value[];

export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return { [markup]: strings.map((string, i) => string + (i < values.length ? render(values[i]) : '')).join('') };
}

export function toText(page: Html): string {
  return page[markup];
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeText(String(value));
  if (isList(value)) return value.map(render).join('');
  return value[markup];
}

function isList(value: Html | readonly Value[]): value is readonly Value[] {
  return Array.isArray(value);
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
