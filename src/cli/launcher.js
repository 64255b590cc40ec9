#!/usr/bin/env node
// The command of the installed package. It has to run on old versions of Node, too, so it imports the program only on one that can run it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const manifest = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const required = Number(/\d+/.exec(manifest.engines.node));
const main = './main.js';

if (Number.parseInt(process.versions.node, 10) < required) await runOnInstalledNode();
else {
  await import('./source-maps.js');
  await import(main);
}

/** npm installs Node beside the package, but links it only for npx and npm scripts. */
async function runOnInstalledNode() {
  const node = process.env.GATEHOUSE_NODE_TRIED ? undefined : findInstalledNode();
  if (!node) {
    console.error(`Gatehouse needs Node ${required} or newer, and this is Node ${process.versions.node}.`);
    process.exit(1);
  }
  const args = process.argv.slice(1);
  // The installed one may be too old, too.
  const env = { ...process.env, GATEHOUSE_NODE_TRIED: '1' };
  process.execve?.(node, [node, ...args], env);
  const { spawn } = await import('node:child_process');
  const child = spawn(node, args, { stdio: 'inherit', env });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // A terminal sends Ctrl+C to both processes.
  process.on('SIGINT', () => {});
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === 'SIGKILL' ? 9 : 15);
  });
}

function findInstalledNode() {
  const { resolve } = createRequire(import.meta.url);
  const file = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  for (const name of Object.keys(manifest.optionalDependencies)) {
    try {
      return resolve(`${name}/${file}`);
    } catch {
      // Not the package of this platform, or not installed.
    }
  }
  return undefined;
}
