import type { Tokens } from '../../support/client.ts';
import type { TimedResponse } from './api-client.ts';
import type { TestBusiness } from './businesses.ts';

/** One answer, written down at the moment it arrived. */
interface Entry {
  what: string;
  /** The grant, app or person it was about. */
  about: string;
  status: number;
  began: number;
  ended: number;
}

/** One Allow, and all that was promised about it. */
export interface Lineage {
  firm: TestBusiness;
  code: string;
  /** What was handed out for it, in order. */
  pairs: Tokens[];
  /** Access tokens whose revocation was acknowledged. */
  revokedAccess: Set<string>;
  /** By what it has ended, once that was acknowledged. */
  endedBy?: string;
  isChecked?: boolean;
}

/** A secret of an app, by what was last acknowledged about it. */
export interface KnownSecret {
  id: string;
  secret: string;
  works: boolean;
  isChecked?: boolean;
}

export type Journal = ReturnType<typeof createJournal>;

/** Every answer that was given, and what it promised. Whatever is in here must hold, whatever happens. */
export function createJournal() {
  const entries: Entry[] = [];
  const wrong: string[] = [];
  return {
    entries,
    /** What should never have happened. */
    wrong,
    lineages: [] as Lineage[],
    secrets: [] as KnownSecret[],
    /** True if it was done; an answer that is neither that nor among the others expected is a wrong one. */
    write(what: string, about: string, { status, body, began, ended }: TimedResponse, ...expected: number[]): boolean {
      entries.push({ what, about, status, began, ended });
      const isDone = status < 400;
      if (!isDone && !expected.includes(status)) {
        wrong.push(`${what} of ${about} was answered with ${status}: ${JSON.stringify(body).slice(0, 300)}`);
      }
      return isDone;
    },
    /** What was written about one thing, for whoever has to find out what went wrong. */
    about: (thing: string) =>
      entries
        .filter(({ about }) => about === thing)
        .map(({ what, status, began, ended }) => `${began}-${ended} ${what} ${status}`)
        .join('\n  '),
  };
}

export const isLive = ({ endedBy, pairs }: Lineage) => endedBy === undefined && pairs.length > 0;
export const newest = ({ pairs }: Lineage) => pairs.at(-1) as Tokens;
