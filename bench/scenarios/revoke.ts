import { type Connected, WrongAnswer } from '../contender.ts';
import { batchFor, connectMany, type Scenario, take } from './scenario.ts';

/** What is said of it is the same whether or not it worked (RFC 7009 §2.2), so one of each batch is tried afterwards. */
export const revokeScenario: Scenario = {
  name: 'revoke',
  title: 'Revoke',
  means: 'a refresh token is revoked, with its whole grant',
  share: 0.3,
  isOffered: ({ revokes }) => revokes,
  prepare(contender, lanes) {
    let connected: Connected[] = [];
    let last: string | undefined;
    return {
      batch: batchFor(lanes),
      async stock(turns) {
        connected = await connectMany(contender, lanes, turns);
      },
      async turn(lane) {
        const { tokens } = take(connected);
        const request = contender.revoke(tokens.refresh);
        contender.checkRevocation(request, await lane.ask(request));
        last = tokens.refresh;
      },
      async review() {
        const [lane] = lanes;
        if (!lane || last === undefined) return;
        const request = contender.refresh(last);
        const answer = await lane.ask(request);
        if (answer.status < 400) throw new WrongAnswer('It was revoked, and should be refused.', request, answer);
      },
    };
  },
};
