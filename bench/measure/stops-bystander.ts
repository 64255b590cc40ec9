import { setTimeout } from 'node:timers/promises';
import type { User } from '../../src/accounts/users.ts';
import type { RegisteredApp } from '../../test/support/fixtures.ts';
import type { StoppedServer } from './stops-server.ts';

/** Between two requests of one kind, in milliseconds. */
const INTERVAL = 10;

/** A client of another business: lists invoices, creates contacts and probes, each one after the other. */
export async function startBystander(server: StoppedServer) {
  const { api, addApp, addBusiness, addUser, connect } = server;
  const business = await addBusiness('Bystander');
  const user = await addUser('Bystander', [[business, 'owner']]);
  const scopes = ['read:invoices', 'write:contacts'];
  const app = await addApp({ ownerBusinessId: business.id, scopes });
  const { access_token: token } = await connect(user, app, scopes.join(' '));
  const bearer = { authorization: `Bearer ${token}`, 'x-business-id': business.id };
  const loops = [
    () => fetch(`${api}/healthz`),
    () => fetch(`${api}/api/v1/accounting/invoices`, { headers: bearer }),
    () => createContact(bearer),
  ];
  let [isStopped, longest] = [false, 0];
  for (const send of loops) runLoop(send);

  async function runLoop(send: () => Promise<Response>): Promise<void> {
    while (!isStopped) {
      const startedAt = performance.now();
      const { status } = await drain(send());
      if (status >= 400) throw new Error(`The client of another business got ${status}.`);
      longest = Math.max(longest, performance.now() - startedAt);
      await setTimeout(INTERVAL);
    }
  }

  function createContact(headers: Record<string, string>): Promise<Response> {
    const json = { ...headers, 'content-type': 'application/json' };
    return fetch(`${api}/api/v1/crm/contacts`, { method: 'POST', headers: json, body: '{"name":"Lin"}' });
  }

  return {
    /** The longest response during the work, in milliseconds. */
    async during(work: () => Promise<unknown>): Promise<number> {
      longest = 0;
      await work();
      return longest;
    },
    /** Another client, whose returned function creates a contact and returns how long that took. */
    async createWriter(writer: User, writing: RegisteredApp, businessId: string) {
      const { access_token } = await connect(writer, writing, 'write:contacts');
      const headers = { authorization: `Bearer ${access_token}`, 'x-business-id': businessId };
      return async () => {
        const startedAt = performance.now();
        const { status } = await drain(createContact(headers));
        if (status !== 201) throw new Error(`A write got ${status}.`);
        return performance.now() - startedAt;
      };
    },
    stop: () => {
      isStopped = true;
    },
  };
}

async function drain(sent: Promise<Response>): Promise<Response> {
  const response = await sent;
  await response.arrayBuffer();
  return response;
}
