import type { Visitor } from '../contender.ts';
import type { Lane } from '../wire.ts';
import { always, batchFor, exchange, type Scenario, welcomeAll } from './scenario.ts';

/** The user is signed in and has allowed the app before; each connection is a browser of its own. */
export const flowScenario: Scenario = {
  name: 'flow',
  title: 'Whole flow',
  means: 'from the authorize endpoint to the code, the tokens and the first call',
  share: 1,
  isOffered: always,
  prepare(contender, lanes) {
    const visitors = new Map<Lane, Visitor>();
    return {
      batch: batchFor(lanes),
      async stock() {
        const welcomed = await welcomeAll(contender, lanes);
        lanes.forEach((lane, place) => {
          visitors.set(lane, welcomed[place] as Visitor);
        });
      },
      async turn(lane) {
        const visitor = visitors.get(lane) as Visitor;
        const tokens = await exchange(contender, lane, await contender.authorize(lane, visitor));
        const request = contender.call(visitor, tokens.access);
        contender.checkCall(request, await lane.ask(request), visitor);
      },
    };
  },
};
