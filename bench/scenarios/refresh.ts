import type { Connected } from '../contender.ts';
import { always, batchFor, connectMany, type Scenario, take } from './scenario.ts';

/** As many connections as lanes, each refreshed a few times in a row, always with its newest token. */
export const refreshScenario: Scenario = {
  name: 'refresh',
  title: 'Refresh',
  means: 'a refresh token is exchanged for a new pair, and is spent',
  share: 1,
  isOffered: always,
  prepare(contender, lanes) {
    let connected: Connected[] = [];
    let turnsLeft = 0;
    return {
      batch: batchFor(lanes),
      async stock(turns) {
        // Whoever is slow has not used up what it was given, and would take longer to make it anew than for all else.
        if (turns <= turnsLeft && !contender.pick) return;
        turnsLeft = batchFor(lanes);
        connected = await connectMany(contender, lanes, contender.pick ? batchFor(lanes) : lanes.length);
      },
      async turn(lane) {
        turnsLeft -= 1;
        const { visitor, tokens } = take(connected);
        const request = contender.refresh(tokens.refresh);
        connected.push({ visitor, tokens: contender.readTokens(request, await lane.ask(request)) });
      },
    };
  },
};
