import { COPIES } from '../../src/audit/entries.ts';
import type { Row } from '../../src/storage/tables.ts';
import type { Browser } from './browser.ts';
import type { TestServer } from './test-server.ts';

/** All audit entries of a server, oldest first, without the copies of sign-ins for each business. */
export function readAuditEntries(server: TestServer): Promise<Row<'audit_entries'>[]> {
  const entries = server.storage().durable.selectFrom('audit_entries').selectAll();
  return entries.where('action', 'not in', COPIES).orderBy('id').execute();
}

/** The rows of an audit log page as text, newest first. */
export function parseAuditTable({ text }: { text: string }) {
  const rows = [...text.matchAll(/<tr><td data-label="When">(.*?)<\/tr>/gs)].map(([, row = '']) =>
    row.split(/<td[^>]*>/),
  );
  const plain = (markup = '') => markup.replace(/<[^>]*>/g, '').trim();
  return rows.map(([when, actor = '', what = '', onWhat, ...rest]) => {
    const [where, business] = rest.reverse();
    const [who, email] = actor.split('<p');
    const [done, more] = what.split('<p');
    const cells = {
      when,
      who,
      email: email && `<p${email}`,
      what: done,
      more: more && `<p${more}`,
      onWhat,
      business,
      where,
    };
    return Object.fromEntries(Object.entries(cells).map(([name, cell]) => [name, plain(cell)])) as AuditTableRow;
  });
}

type AuditTableRow = Record<'when' | 'who' | 'email' | 'what' | 'more' | 'onWhat' | 'business' | 'where', string>;

/** The lines of a CSV export, as objects by column name. */
export async function fetchAuditExport(browser: Browser, address: string): Promise<Record<string, string>[]> {
  const [head = [], ...lines] = parseCsv(await (await browser.fetch(address)).text());
  return lines.map((cells) => Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ''])));
}

function parseCsv(text: string): string[][] {
  return text
    .split('\r\n')
    .filter(Boolean)
    .map((line) => [...line.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell = '']) => cell.replaceAll('""', '"')));
}
