import { unescaped } from '../support/browser.ts';

export type Pair = [name: string, value: string];

interface FoundForm {
  action: string;
  fields: Pair[];
}

/** All pages and forms that links lead to. */
export interface Found {
  paths: string[];
  forms: FoundForm[];
}

/** Breadth-first. */
export async function crawl(read: (path: string) => Promise<string>, starts: string[], limit: number): Promise<Found> {
  const paths = [...starts];
  const forms = new Map<string, FoundForm>();
  for (let index = 0; index < paths.length && index < limit; index++) {
    const text = await read(paths[index] as string);
    for (const form of formsOf(text)) forms.set(`${form.action} ${form.fields.map(([name]) => name)}`, form);
    for (const link of linksOf(text)) if (!paths.includes(link)) paths.push(link);
  }
  return { paths, forms: [...forms.values()] };
}

function linksOf(text: string): string[] {
  const links = [...text.matchAll(/<a [^>]*href="(\/[^"#]*)"/g)].map(([, href = '']) => unescaped(href));
  return links.filter((link) => !link.startsWith('/assets/') && !link.includes('.csv'));
}

export function formsOf(text: string): FoundForm[] {
  return [...text.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(([, head = '', body = '']) => ({
    action: unescaped(/action="([^"]*)"/.exec(head)?.[1] ?? ''),
    fields: fieldsOf(body),
  }));
}

/** A browser sends one of several buttons or radio buttons with one name. */
function fieldsOf(body: string): Pair[] {
  const chosen = new Set<string>();
  const tags = [...body.matchAll(/<(input|button|select|textarea)([^>]*)>([^<]*)/g)];
  return tags.flatMap(([, tag, attributes = '', content = '']): Pair[] => {
    const name = /\bname="([^"]*)"/.exec(attributes)?.[1];
    const value = tag === 'textarea' ? content : (/\bvalue="([^"]*)"/.exec(attributes)?.[1] ?? '');
    const isOneOf = tag === 'button' || attributes.includes('type="radio"');
    if (name === undefined || (isOneOf && chosen.has(name))) return [];
    if (isOneOf) chosen.add(name);
    return [[unescaped(name), unescaped(value)]];
  });
}
