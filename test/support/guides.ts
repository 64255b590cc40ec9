import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Block {
  section: string;
  language: string;
  text: string;
  isRun: boolean;
}

/** Opens a guide. The tests of the file must run all its code blocks, or all of the given sections. */
export function openGuide(name: string, sections?: string[]) {
  const all = readBlocks(readFileSync(join(ROOT, 'docs/guides', `${name}.md`), 'utf8'));
  const blocks = all.filter(({ section }) => sections?.includes(section) ?? true);
  after(() => {
    const unused = blocks.filter(({ isRun }) => !isRun).map(({ section, text }) => `${section}: ${text}`);
    assert.deepEqual(unused, [], `every block of ${name}.md is run`);
  });
  return {
    /** The code blocks of a section as one program. */
    take(section: string, language: string): string {
      const taken = blocks.filter((block) => block.section === section && block.language === language);
      assert.ok(taken.length > 0, `${name}.md has ${language} under ${section}`);
      for (const block of taken) block.isRun = true;
      return taken.map(({ text }) => text).join('\n');
    },
  };
}

function readBlocks(guide: string): Block[] {
  const parts = guide.matchAll(/^#{2,3} (?<heading>[^\n]+)$|^```(?<language>\w*)\n(?<text>.*?)^```$/gms);
  const blocks: Block[] = [];
  let section = '';
  for (const { groups = {} } of parts) {
    if (groups.heading !== undefined) section = groups.heading;
    else blocks.push({ section, language: groups.language ?? '', text: groups.text ?? '', isRun: false });
  }
  return blocks;
}

/** A temporary folder for the reader's files, and a checkout of this repository. */
export function createWorkspace() {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'gatehouse-guide-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const checkout = join(folder, 'checkout');
  const project = join(folder, 'own');
  mkdirSync(checkout);
  mkdirSync(project);
  cpSync(join(ROOT, 'sdk'), join(checkout, 'sdk'), { recursive: true });
  for (const name of ['node_modules', 'src', 'scripts', 'package.json', 'package-lock.json', 'demo']) {
    symlinkSync(join(ROOT, name), join(checkout, name));
  }
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'own', private: true, type: 'module' }));
  return {
    folder: project,
    checkout,
    /** Saves a file of the guide. */
    save: (name: string, text: string) => writeFileSync(join(project, name), text),
    /** Links an npm package of the tests, instead of installing it from the registry. */
    linkPackage(name: string) {
      mkdirSync(join(project, 'node_modules'), { recursive: true });
      const installed = ['test/node_modules', 'node_modules'].map((packages) => join(ROOT, packages, name));
      symlinkSync(installed.find(existsSync) ?? '', join(project, 'node_modules', name));
    },
    run: (command: string[], { cwd = project, env = {} }: RunOptions = {}) => startProgram(command, { cwd, env }),
    bash: (script: string, { cwd = project, env = {} }: RunOptions = {}) =>
      startProgram(['bash', '-euo', 'pipefail', '-c', `${defineGatehouse()}${script}`], { cwd, env }),
  };
}

/** The shell function that the guides call, as the reference of the command line defines it. */
function defineGatehouse(): string {
  const blocks = readBlocks(readFileSync(join(ROOT, 'docs/reference/command-line.md'), 'utf8'));
  const block = blocks.find(({ section }) => section === 'How to call it');
  assert.ok(block, 'command-line.md says how to call gatehouse');
  return block.text;
}

interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
}

export type Program = ReturnType<typeof startProgram>;

function startProgram([name = '', ...args]: string[], { cwd, env }: Required<RunOptions>) {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(name, args, {
    cwd,
    env: { ...plainEnvironment(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A new process group, so that its children end with it.
    detached: true,
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const closed = once(child, 'close');
  const stop = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // It has exited already.
    }
  };
  after(stop);
  return {
    writeLine: (line: string) => child.stdin.write(`${line}\n`),
    /** Waits until stdout matches. */
    async waitForOutput(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = pattern.exec(output.stdout);
        if (found) return found[1] ?? found[0];
        if (child.exitCode !== null) throw new Error(`It ended without ${pattern}:\n${output.stdout}${output.stderr}`);
        await Promise.race([once(child.stdout, 'data'), closed]);
      }
    },
    /** Waits until the program exits. */
    async end(): Promise<{ status: number | null; stderr: string }> {
      await closed;
      return { status: child.exitCode, stderr: output.stderr };
    },
    /** Waits until the program exits with 0, and returns its output. */
    async waitForExit(): Promise<string> {
      child.stdin.end();
      await closed;
      assert.equal(child.exitCode, 0, output.stdout + output.stderr);
      return output.stdout;
    },
    stop,
  };
}

/** The environment without the variables of `npm test`, which would affect npm in another folder. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_TEST/i.test(name));
  return { ...Object.fromEntries(kept), npm_config_offline: 'true', PIP_NO_INDEX: '1' };
}
