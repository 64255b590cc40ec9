import type { Tokens } from '../../support/client.ts';
import type { TimedResponse } from './api-client.ts';
import type { TestBusiness } from './businesses.ts';

/** A response, recorded on arrival. */
interface Entry {
  what: string;
  /** The grant, app or person it is about. */
  about: string;
  status: number;
  began: number;
  ended: number;
}

/** One grant, and everything that was acknowledged about it. */
export interface GrantHistory {
  business: TestBusiness;
  code: string;
  /** Its issued tokens, in order. */
  pairs: Tokens[];
  /** Access tokens whose revocation was acknowledged. */
  revokedAccess: Set<string>;
  /** How it was ended, once that was acknowledged. */
  endedBy?: string;
  isChecked?: boolean;
}

/** A secret of an app, with its last acknowledged state. */
export interface KnownSecret {
  id: string;
  secret: string;
  works: boolean;
  isChecked?: boolean;
}

export type Journal = ReturnType<typeof createJournal>;

/** All responses, and what they acknowledged. The server must still agree after every fault. */
export function createJournal() {
  const entries: Entry[] = [];
  const wrong: string[] = [];
  return {
    entries,
    /** Unexpected responses. */
    wrong,
    histories: [] as GrantHistory[],
    secrets: [] as KnownSecret[],
    /** True if the request succeeded; records a response that was not expected. */
    write(what: string, about: string, { status, body, began, ended }: TimedResponse, ...expected: number[]): boolean {
      entries.push({ what, about, status, began, ended });
      const isDone = status < 400;
      if (!isDone && !expected.includes(status)) {
        wrong.push(`${what} of ${about} got status ${status}: ${JSON.stringify(body).slice(0, 300)}`);
      }
      return isDone;
    },
    /** The entries about one subject, for debugging. */
    about: (thing: string) =>
      entries
        .filter(({ about }) => about === thing)
        .map(({ what, status, began, ended }) => `${began}-${ended} ${what} ${status}`)
        .join('\n  '),
  };
}

export const isLive = ({ endedBy, pairs }: GrantHistory) => endedBy === undefined && pairs.length > 0;
export const newest = ({ pairs }: GrantHistory) => pairs.at(-1) as Tokens;
