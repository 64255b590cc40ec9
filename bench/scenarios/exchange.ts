import { always, batchFor, exchange, makeCodes, type Scenario, take } from './scenario.ts';

export const exchangeScenario: Scenario = {
  name: 'exchange',
  title: 'Code exchange',
  means: 'a code is exchanged for a pair of tokens',
  share: 0.3,
  isOffered: always,
  prepare(contender, lanes) {
    let codes: string[] = [];
    return {
      batch: batchFor(lanes),
      async stock(turns) {
        codes = await makeCodes(contender, lanes, turns);
      },
      async turn(lane) {
        await exchange(contender, lane, take(codes));
      },
    };
  },
};
