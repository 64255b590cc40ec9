import type { ConnectedApp } from '../contender.ts';
import { always, batchFor, connectMany, type Scenario, take } from './scenario.ts';

/** One grant per client, refreshed several times, always with its newest token. */
export const refreshScenario: Scenario = {
  name: 'refresh',
  title: 'Refresh',
  description: 'a refresh token is exchanged for a new pair, and is spent',
  share: 1,
  isOffered: always,
  prepare(contender, clients) {
    let connected: ConnectedApp[] = [];
    let iterationsLeft = 0;
    return {
      batch: batchFor(clients),
      async prepareBatch(iterations) {
        // A slow contender has not used up the last batch, and preparing another would take longer than the measurement.
        if (iterations <= iterationsLeft && !contender.pick) return;
        iterationsLeft = batchFor(clients);
        connected = await connectMany(contender, clients, contender.pick ? batchFor(clients) : clients.length);
      },
      async iterate(client) {
        iterationsLeft -= 1;
        const { visitor, tokens } = take(connected);
        const request = contender.refresh(tokens.refresh);
        connected.push({ visitor, tokens: contender.readTokens(request, await client.ask(request)) });
      },
    };
  },
};
