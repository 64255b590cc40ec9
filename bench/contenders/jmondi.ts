import { keepCookies } from '../browse.ts';
import type { Contender, Visitor } from '../contender.ts';
import { SCOPE } from '../seed.ts';
import { get } from '../wire.ts';
import { CLIENT, startPeer } from './peer.ts';
import { speakToPeer } from './peer-speech.ts';

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
    const subjectAt = (place: number) => `person-${place}`;
    const speech = speakToPeer({
      origin,
      clientId: CLIENT.id,
      scope: SCOPE,
      paths: PATHS,
      subjectAt,
      async welcome(lane, place) {
        const visitor: Visitor = { place, cookie: '' };
        keepCookies(visitor, await lane.ask(get(origin, `/sign-in?as=${subjectAt(place)}`)));
        return visitor;
      },
    });
    return { pid, stop, ...speech };
  },
};
