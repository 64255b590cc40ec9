import type { ConnectedApp } from '../contender.ts';
import { always, batchFor, connectMany, type Scenario, take } from './scenario.ts';

const BATCH = 4096;

export const callScenario: Scenario = {
  name: 'call',
  title: 'Bearer-protected call',
  description: 'an access token is checked, and the resource is read',
  share: 1,
  isOffered: always,
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
        const request = contender.call(used.visitor, used.tokens.access);
        contender.checkCall(request, await client.ask(request), used.visitor);
        connected.push(used);
      },
    };
  },
};
