import { SECOND } from '../lib/clock.ts';

/** How long others may take and how much may be asked at once, so that no one can keep the rest from being served. */
export interface Patience {
  /** Until the last line before a body has come, in milliseconds. */
  headers: number;
  /** Until the whole request has come. */
  request: number;
  /** With no byte in either direction while a request or its answer is on its way. */
  silence: number;
  /** Between two requests; longer than a proxy keeps a connection that it does not use. */
  idle: number;
  /** How often it is looked at who has been too slow. */
  lookEvery: number;
  /** On each host. Whoever comes on top of them is not let in. */
  connections: number;
  /** Of those who come at the same time, so many are answered however long it takes: a slow moment is not a crowd. */
  crowd: number;
  /** And of the rest, who has waited longer than this for the others is turned away. */
  turn: number;
  /** Until the receiver of a webhook has answered; everything counts, from looking up its name on. */
  receiver: number;
}

export const PATIENCE: Patience = {
  headers: 10 * SECOND,
  request: 30 * SECOND,
  silence: 60 * SECOND,
  idle: 72 * SECOND,
  lookEvery: SECOND,
  connections: 10_000,
  crowd: 100,
  turn: SECOND / 2,
  receiver: 15 * SECOND,
};
