import { storeCookies } from '../browse.ts';
import type { Contender, Visitor } from '../contender.ts';
import { get } from '../http-client.ts';
import { SCOPE } from '../seed.ts';
import { CLIENT, startPeer } from './peer.ts';
import { peerRequests } from './peer-requests.ts';

const PATHS = {
  authorize: '/authorize',
  token: '/token',
  call: '/protected',
  introspect: '/token/introspect',
  revoke: '/token/revoke',
};

export const jmondi: Contender = {
  name: 'jmondi',
  title: '@jmondi/oauth2-server, memory',
  needsBothCores: false,
  isPeer: true,
  async start() {
    const { pid, stop, origin } = await startPeer('jmondi');
    const subjectAt = (index: number) => `person-${index}`;
    const requests = peerRequests({
      origin,
      clientId: CLIENT.id,
      scope: SCOPE,
      paths: PATHS,
      subjectAt,
      async signIn(client, index) {
        const visitor: Visitor = { index, cookie: '' };
        storeCookies(visitor, await client.ask(get(origin, `/sign-in?as=${subjectAt(index)}`)));
        return visitor;
      },
    });
    return { pid, stop, ...requests };
  },
};
