import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CHECKS_NOT_APPLICABLE, NOT_APPLICABLE } from './not-applicable.ts';

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

export interface Outcome {
  scenario: string;
  /** Why it does not apply, if it does not. */
  reason: string | undefined;
  /** Checks of its own that have passed. */
  passed: number;
  /** Checks that do not apply, with the reason. */
  exceptions: string[];
  /** Failures and warnings without a reason in the list. */
  problems: string[];
}

/** Reads the results that the suite has saved: a folder for each scenario, named after it and the time. */
export function readOutcomes(folder: string): Outcome[] {
  return globSync(join(folder, '*', 'checks.json'))
    .sort()
    .map((file) => {
      const [, scenario = ''] =
        /^(?:authorization-)?(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(basename(dirname(file))) ?? [];
      return outcomeOf(scenario, JSON.parse(readFileSync(file, 'utf8')));
    });
}

function outcomeOf(scenario: string, checks: Check[]): Outcome {
  const reason = NOT_APPLICABLE[scenario];
  const passed = checks.filter(({ id, status }) => status === 'SUCCESS' && !isOfSchema(id)).length;
  const missed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING' || status === 'SKIPPED');
  const exceptions = missed.flatMap(({ id }) =>
    CHECKS_NOT_APPLICABLE[id] ? [`\`${id}\`: ${CHECKS_NOT_APPLICABLE[id]}`] : [],
  );
  const problems = missed.filter(({ id }) => {
    // The schema of every message is checked, whether the scenario applies or not.
    const applies = reason === undefined || isOfSchema(id);
    return applies && !(id in CHECKS_NOT_APPLICABLE);
  });
  const untested = reason === undefined && passed === 0 ? ['no check has passed'] : [];
  return { scenario, reason, passed, exceptions, problems: [...problems.map(describe), ...untested] };
}

function isOfSchema(id: string): boolean {
  return id.startsWith('wire-schema');
}

function describe({ id, status, errorMessage }: Check): string {
  return `${id}: ${status} ${errorMessage ?? ''}`.trim();
}
