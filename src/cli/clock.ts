import { OPERATOR, recordAudit } from '../audit/acts.ts';
import { systemClock } from '../lib/clock.ts';
import { confirmReading } from '../storage/plausible-clock.ts';
import { type Command, withStorage } from './command.ts';

export const clockConfirmCommand: Command = {
  name: 'clock confirm',
  summary: 'Confirm that the clock of this machine is right, after it has jumped by more than a day',
  options: {},
  run: (_, env) =>
    withStorage(env, async (storage) => {
      const now = systemClock();
      const time = new Date(now).toISOString();
      const subject = { kind: 'database' as const, id: 'database', name: time };
      await storage.transaction(async (db) => {
        await confirmReading(db, now);
        await recordAudit(db, { action: 'database.clock_confirmed', actor: OPERATOR, businessId: null, subject }, now);
      });
      return { confirmed: time };
    }),
};
