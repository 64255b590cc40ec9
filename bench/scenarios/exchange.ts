import { always, batchFor, createCodes, exchange, type Scenario, take } from './scenario.ts';

export const exchangeScenario: Scenario = {
  name: 'exchange',
  title: 'Code exchange',
  description: 'a code is exchanged for a pair of tokens',
  share: 0.3,
  isOffered: always,
  prepare(contender, clients) {
    let codes: string[] = [];
    return {
      batch: batchFor(clients),
      async prepareBatch(iterations) {
        codes = await createCodes(contender, clients, iterations);
      },
      async iterate(client) {
        await exchange(contender, client, take(codes));
      },
    };
  },
};
