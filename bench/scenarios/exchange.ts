import { always, exchange, makeCodes, type Scenario, stockFor, take } from './scenario.ts';

export const exchangeScenario: Scenario = {
  name: 'exchange',
  title: 'Code exchange',
  means: 'a code becomes a pair of tokens',
  isOffered: always,
  prepare(contender, lanes) {
    let codes: string[] = [];
    return {
      batch: stockFor(lanes),
      async stock() {
        codes = await makeCodes(contender, lanes, stockFor(lanes));
      },
      async turn(lane) {
        await exchange(contender, lane, take(codes));
      },
    };
  },
};
