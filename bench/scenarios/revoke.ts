import { type ConnectedApp, UnexpectedResponse } from '../contender.ts';
import { batchFor, connectMany, type Scenario, take } from './scenario.ts';

/** The response does not show whether the token was revoked (RFC 7009 §2.2), so one token of each batch is tried. */
export const revokeScenario: Scenario = {
  name: 'revoke',
  title: 'Revoke',
  description: 'a refresh token is revoked, with its whole grant',
  share: 0.3,
  isOffered: ({ revokes }) => revokes,
  prepare(contender, clients) {
    let connected: ConnectedApp[] = [];
    let last: string | undefined;
    return {
      batch: batchFor(clients),
      async prepareBatch(iterations) {
        connected = await connectMany(contender, clients, iterations);
      },
      async iterate(client) {
        const { tokens } = take(connected);
        const request = contender.revoke(tokens.refresh);
        contender.checkRevocation(request, await client.ask(request));
        last = tokens.refresh;
      },
      async verifyBatch() {
        const [client] = clients;
        if (!client || last === undefined) return;
        const request = contender.refresh(last);
        const response = await client.ask(request);
        if (response.status < 400)
          throw new UnexpectedResponse('The token was revoked, so it should be rejected.', request, response);
      },
    };
  },
};
