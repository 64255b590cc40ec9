import { hasNoKeys, type KeySource, readSecretKeys } from '../config/keys.ts';
import { systemClock } from '../lib/clock.ts';
import type { Command } from './command.ts';
import { checkAddresses } from './doctor/addresses.ts';
import { checkClock, checkDatabase } from './doctor/database.ts';
import type { Finding } from './doctor/finding.ts';
import { checkKeys } from './doctor/keys.ts';
import { checkMail } from './doctor/mail.ts';
import { checkSettings, readValidSettings } from './doctor/settings.ts';
import { color } from './output.ts';

/** Read-only. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary:
    'Check settings, clock, database, keys, mail and addresses, and show how to fix problems; exits with 1 if there is one',
  options: {},
  examples: ['--json'],
  async run(_, env) {
    const { settings, findings } = readValidSettings(env);
    const areInvalid = findings.some(({ message }) => message.startsWith('SECRET_KEYS'));
    const source = areInvalid ? undefined : hasNoKeys(env) ? NO_KEYS : readSecretKeys(env);
    return {
      findings: [
        ...checkSettings(settings, findings, env),
        ...checkClock(systemClock()),
        ...(source ? checkKeys(source) : []),
        ...(await checkDatabase(settings, source?.keys)),
        ...(await checkMail(settings)),
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

const COLORS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

function formatFinding({ level, about, message, fix }: Finding): string {
  const line = `${color(COLORS[level], level.padEnd(8))} ${about.padEnd(9)} ${message}`;
  return fix ? `${line}\n${' '.repeat(19)}→ ${fix}` : line;
}
