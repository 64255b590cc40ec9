import type { Connected } from '../contender.ts';
import { batchFor, connectMany, type Scenario, take } from './scenario.ts';

const QUESTIONS = 4096;

export const introspectScenario: Scenario = {
  name: 'introspect',
  title: 'Introspect',
  means: 'an API introspects an access token',
  share: 1,
  isOffered: ({ introspects }) => introspects,
  prepare(contender, lanes) {
    let connected: Connected[] = [];
    return {
      batch: QUESTIONS,
      async stock() {
        if (contender.pick) connected = contender.pick(batchFor(lanes));
        else if (connected.length === 0) connected = await connectMany(contender, lanes, lanes.length);
      },
      async turn(lane) {
        const used = take(connected);
        const request = contender.introspect(used.tokens.access);
        contender.checkIntrospection(request, await lane.ask(request), true);
        connected.push(used);
      },
    };
  },
};
