import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/ports.ts';
import { start, waitFor } from './processes.ts';
import { CannotRun, findTool, ROOT, run } from './tools.ts';

const UNIT = readFileSync(join(ROOT, 'deploy/systemd/gatehouse.service'), 'utf8');
const MAIN = join(ROOT, 'src/cli/main.js');

/** The highest exposure that is accepted, from 0 to 10. */
const MAX_EXPOSURE = 1.5;

export async function checkSystemd(): Promise<string> {
  const analyze = await findTool('systemd-analyze');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-systemd-'));
  try {
    // The program need not be installed on this machine.
    const file = join(folder, 'gatehouse.service');
    writeFileSync(file, UNIT.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    assert.equal(await run(analyze, ['verify', '--man=no', file]), '');
    const threshold = `--threshold=${MAX_EXPOSURE * 10}`;
    const report = await run(analyze, ['security', '--offline=true', '--no-pager', threshold, file]);
    const [, exposure] = /exposure level for \S+: ([\d.]+)/.exec(report) ?? [];
    return `systemd-analyze verify has no findings; security: exposure ${exposure} of 10`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Serves while strace fails each system call that the unit forbids with the error of the unit. */
export async function traceSystemd(): Promise<string> {
  const analyze = await findTool('systemd-analyze');
  const strace = await findTool('strace');
  if (spawnSync(strace, ['true']).status !== 0) throw new CannotRun('strace may not trace processes here');
  const allowed = await allowedCalls(analyze);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-calls-'));
  const log = join(folder, 'calls');
  const forbidden = `!${allowed.map((name) => `?${name}`).join(',')}`;
  const [, error = ''] = /^SystemCallErrorNumber=(\w+)$/m.exec(UNIT) ?? [];
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    BASE_URL: `http://127.0.0.1:${port}`,
    CONSENT_URL: `http://127.0.0.1:${await freePort()}`,
    DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
    SECRET_KEYS: 'dGhlIGtleSBvZiB0aGUgY2hlY2sgb2YgdGhlIHVuaXQ',
    LOG_LEVEL: 'warn',
  };
  // -D: strace is not the parent, so that signals reach the server.
  const filter = ['-D', '-f', '-o', log, '-e', `trace=${forbidden}`, '-e', `inject=${forbidden}:error=${error}`];
  const server = start(strace, [...filter, process.execPath, MAIN, 'serve'], env);
  try {
    const check = () => run(process.execPath, [MAIN, 'health', '--ready'], { env });
    await waitFor('the server was ready', check, server.ended);
    await signIn(env.CONSENT_URL);
  } finally {
    await server.stop();
  }
  const denied = new Set(readFileSync(log, 'utf8').match(/(?<=^\d+ +)\w+(?=\()/gm));
  rmSync(folder, { recursive: true });
  return `serves with ${allowed.length} system calls; denied and not needed: ${[...denied].join(', ') || 'none'}`;
}

/** Hashes a password, which other threads do. */
async function signIn(web: string): Promise<void> {
  const page = await fetch(`${web}/sign-in`);
  const cookie = page.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const fields = [...(await page.text()).matchAll(/<input[^>]*type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"/g)];
  const body = new URLSearchParams(fields.map(([, name = '', value = '']) => [name, value]));
  body.set('email', 'nobody@example.com');
  body.set('password', 'correct horse battery staple');
  const response = await fetch(`${web}/sign-in`, { method: 'POST', body, headers: { cookie, origin: web } });
  assert.ok(response.status < 500, `sign-in: ${response.status}`);
}

/** The calls that the filters of the unit leave, in their order: a line adds groups, or removes them if it begins with ~. */
async function allowedCalls(analyze: string): Promise<string[]> {
  const groups = readGroups(await run(analyze, ['syscall-filter', '--no-pager']));
  const allowed = new Set(expand(groups, '@default'));
  for (const [, sign, names = ''] of UNIT.matchAll(/^SystemCallFilter=(~?)(.*)$/gm)) {
    const calls = names.split(' ').flatMap((name) => expand(groups, name));
    for (const call of calls) sign ? allowed.delete(call) : allowed.add(call);
  }
  return [...allowed];
}

function readGroups(text: string): Map<string, string[]> {
  const blocks = text.split(/^(?=@)/m).filter((block) => block.startsWith('@'));
  return new Map(
    blocks.map((block) => {
      const [name = '', ...lines] = block.split('\n');
      return [name.trim(), lines.map((line) => line.trim()).filter((line) => /^@?\w[\w-]*$/.test(line))];
    }),
  );
}

function expand(groups: Map<string, string[]>, name: string): string[] {
  if (!name.startsWith('@')) return [name];
  return (groups.get(name) ?? []).flatMap((each) => expand(groups, each));
}
