import type { Visitor } from '../contender.ts';
import type { HttpClient } from '../http-client.ts';
import { always, batchFor, createVisitors, exchange, type Scenario } from './scenario.ts';

/** The users are signed in and have allowed the app before. Each client is a browser. */
export const flowScenario: Scenario = {
  name: 'flow',
  title: 'Whole flow',
  description: 'authorize, exchange and the first API request',
  share: 1,
  isOffered: always,
  prepare(contender, clients) {
    const visitors = new Map<HttpClient, Visitor>();
    return {
      batch: batchFor(clients),
      async prepareBatch() {
        const created = await createVisitors(contender, clients);
        clients.forEach((client, index) => {
          visitors.set(client, created[index] as Visitor);
        });
      },
      async iterate(client) {
        const visitor = visitors.get(client) as Visitor;
        const tokens = await exchange(contender, client, await contender.authorize(client, visitor));
        const request = contender.call(visitor, tokens.access);
        contender.checkCall(request, await client.ask(request), visitor);
      },
    };
  },
};
