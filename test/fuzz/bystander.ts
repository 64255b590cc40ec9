import { DatabaseSync } from 'node:sqlite';
import { createInvitation } from '../../src/accounts/invitations.ts';
import { hasHappenings } from '../../src/events/happenings.ts';
import { newId, newRandomId } from '../../src/lib/ids.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { spreadHappenings } from '../../src/webhooks/spreading.ts';
import { KEY, type Product } from './product.ts';

/** Tables that record attempts of any client, including failed ones. */
const NOTES = ['logged_requests', 'request_counts', 'rate_limits'];

/** A tenant that sends no requests and has rows in every table, which must not change. */
export async function addBystander({ storage, fixtures }: Product): Promise<void> {
  const { acme, ada, ledger } = fixtures;
  const now = Date.now();
  await fixtures.addInvoice(acme);
  await storage.transaction(async (db) => {
    const endpoint = { appId: ledger.id, url: 'https://bystander.example/', eventTypes: ['invoice.paid'] };
    await insertEndpoint(db, createKeyring([KEY]), endpoint, now);
    const actor = { kind: 'user', id: ada.id, name: ada.name, email: ada.email, address: '127.0.0.1' } as const;
    const invitation = { id: newId(now), token: newRandomId(), businessId: acme.id, role: 'member', inviter: ada };
    await createInvitation(actor, db, { ...invitation, email: 'guest@bystander.example' }, now);
  });
  // The server may do it at the same time. Afterwards nothing is left to be done for this tenant.
  while (await hasHappenings(storage.durable)) await spreadHappenings({ storage, clock: Date.now });
}

/** All rows that name it, in every table, without the dispatch time of events. */
export function describeBystander({ databaseUrl, fixtures }: Product): string[] {
  const ids = [fixtures.acme.id, fixtures.ada.id, fixtures.ledger.id];
  const database = new DatabaseSync(databaseUrl.replace('sqlite:', ''), { readOnly: true });
  const tables = database.prepare("select name from sqlite_master where type = 'table'").all();
  const read = (table: string) => database.prepare(`select * from "${table}"`).all();
  // Any client can send the id of another one in a request, which must not affect it.
  const names = (row: object) =>
    Object.entries(row).some(([column, value]) => ids.includes(value) && !column.endsWith('name'));
  const rows = tables
    .map(({ name }) => String(name))
    .filter((table) => !NOTES.includes(table))
    .flatMap((table) =>
      read(table)
        .filter(names)
        .map((row) => JSON.stringify({ table, ...row, dispatched_at: 0 })),
    );
  database.close();
  return rows.sort();
}
