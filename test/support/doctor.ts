import assert from 'node:assert/strict';
import type { CommandLine, CommandResult } from './command-line.ts';
import { freePort } from './ports.ts';

/** A server may be running on the default ports. */
export const UNUSED_PORTS = {
  BASE_URL: `http://localhost:${await freePort()}`,
  CONSENT_URL: `http://localhost:${await freePort()}`,
};

export interface Finding {
  level: string;
  about: string;
  message: string;
  fix?: string;
}

export const runDoctor = async (cli: CommandLine, env: Record<string, string> = {}, asProcess = false) =>
  readFindings(await cli.run(['doctor', '--json'], { env: { ...UNUSED_PORTS, ...env }, asProcess }));

export function readFindings({ status, stdout, stderr }: CommandResult) {
  assert.equal(stderr, '');
  const { findings }: { findings: Finding[] } = JSON.parse(stdout);
  const isBad = findings.some(({ level }) => level === 'problem');
  assert.equal(status, isBad ? 1 : 0);
  for (const { level, message, fix } of findings) {
    assert.match(message, /^\S.*[.\d]$/);
    assert.equal(fix === undefined, level === 'ok', message);
  }
  return { findings, stdout, of: (level: string) => findings.filter((finding) => finding.level === level) };
}

export function assertFinding(findings: Finding[], level: string, message: RegExp): void {
  const found = findings.some((finding) => finding.level === level && message.test(finding.message));
  assert.ok(found, `${level} ${message} is not among ${JSON.stringify(findings, null, 1)}`);
}
