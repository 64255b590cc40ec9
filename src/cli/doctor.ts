import { type KeySource, readSecretKeys } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import type { Command } from './command.ts';
import { checkAddresses } from './doctor/addresses.ts';
import { checkClock } from './doctor/clock.ts';
import { checkDatabase } from './doctor/database.ts';
import type { Finding } from './doctor/finding.ts';
import { checkKeys } from './doctor/keys.ts';
import { checkSettings, isWithoutKeys, readForDoctor } from './doctor/settings.ts';

/** Read-only. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary:
    'Check settings, clock, database, keys and addresses, and say how to fix problems; exits with 1 if there is one',
  options: {},
  async run(_, env) {
    const { settings, findings } = readForDoctor(env);
    const areInvalid = findings.some(({ says }) => says.startsWith('SECRET_KEYS'));
    const source = areInvalid ? undefined : isWithoutKeys(env) ? NO_KEYS : readSecretKeys(env);
    return {
      findings: [
        ...checkSettings(settings, findings),
        ...checkClock(systemClock()),
        ...(source ? checkKeys(source) : []),
        ...(await checkDatabase(settings, source?.keys)),
        ...(await checkAddresses(settings, systemClock())),
      ],
    };
  },
  format: (result) => (result as Result).findings.map(formatFinding).join('\n'),
  isFailure: (result) => (result as Result).findings.some(({ level }) => level === 'problem'),
};

const NO_KEYS: KeySource = { keys: [], file: undefined };

interface Result {
  findings: Finding[];
}

function formatFinding({ level, about, says, mend }: Finding): string {
  const line = `${level.padEnd(8)} ${about.padEnd(9)} ${says}`;
  return mend ? `${line}\n${' '.repeat(19)}→ ${mend}` : line;
}
