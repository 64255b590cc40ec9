import type { ConnectedApp } from '../contender.ts';
import { batchFor, connectMany, type Scenario, take } from './scenario.ts';

const BATCH = 4096;

export const introspectScenario: Scenario = {
  name: 'introspect',
  title: 'Introspect',
  description: 'an API introspects an access token',
  share: 1,
  isOffered: ({ introspects }) => introspects,
  prepare(contender, clients) {
    let connected: ConnectedApp[] = [];
    return {
      batch: BATCH,
      async prepareBatch() {
        if (contender.pick) connected = contender.pick(batchFor(clients));
        else if (connected.length === 0) connected = await connectMany(contender, clients, clients.length);
      },
      async iterate(client) {
        const used = take(connected);
        const request = contender.introspect(used.tokens.access);
        contender.checkIntrospection(request, await client.ask(request), true);
        connected.push(used);
      },
    };
  },
};
