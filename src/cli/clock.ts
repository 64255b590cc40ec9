import { confirmClock } from '../audit/clock-confirmation.ts';
import { OPERATOR } from '../audit/entries.ts';
import { systemClock } from '../lib/clock.ts';
import { type Command, withStorage } from './command.ts';

export const clockConfirmCommand: Command = {
  name: 'clock confirm',
  summary: 'Confirm that the clock of this machine is right, after it has jumped by more than a day',
  options: {},
  run: (_, env) =>
    withStorage(env, async ({ durable }) => ({ confirmed: await confirmClock(OPERATOR, durable, systemClock()) })),
};
