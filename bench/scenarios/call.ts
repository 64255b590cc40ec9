import type { Connected } from '../contender.ts';
import { always, batchFor, connectMany, type Scenario, take } from './scenario.ts';

const CALLS = 4096;

export const callScenario: Scenario = {
  name: 'call',
  title: 'Bearer-protected call',
  means: 'an access token is checked, and the resource is read',
  share: 1,
  isOffered: always,
  prepare(contender, lanes) {
    let connected: Connected[] = [];
    return {
      batch: CALLS,
      async stock() {
        if (contender.pick) connected = contender.pick(batchFor(lanes));
        else if (connected.length === 0) connected = await connectMany(contender, lanes, lanes.length);
      },
      async turn(lane) {
        const used = take(connected);
        const request = contender.call(used.visitor, used.tokens.access);
        contender.checkCall(request, await lane.ask(request), used.visitor);
        connected.push(used);
      },
    };
  },
};
