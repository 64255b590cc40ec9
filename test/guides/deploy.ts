import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after } from 'node:test';
import { ROOT } from '../support/guides.ts';

/** Replacements of programs that the tests do not run. Each prints its arguments on a line. */
const RECORDED = ['docker', 'kubectl', 'helm', 'chown', 'useradd', 'systemctl', 'npm', 'gatehouse-command'];

/** A copy of the deploy folder, in a checkout and in the installed package, in which the blocks of the guide run without root or containers. */
export function createDeployment() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-deploy-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  // A checkout may have the secrets of the Compose file.
  const filter = (path: string) => basename(path) !== 'secrets';
  cpSync(join(ROOT, 'deploy'), join(folder, 'deploy'), { recursive: true, filter });
  const installed = join(folder, 'opt/gatehouse/lib/node_modules/gatehouse/deploy');
  cpSync(join(ROOT, 'deploy'), installed, { recursive: true, filter });
  for (const each of ['etc/systemd/system', 'usr/local/sbin']) mkdirSync(join(folder, each), { recursive: true });
  const functions = RECORDED.map((name) => `${name}() { echo ${name} "$@"; }`);
  return {
    folder,
    /** The block with the folders of the system below the temporary one. */
    script(text: string): string {
      const moved = text.replaceAll(/(?<=[\s>]|=|^)\/(?=(?:etc|opt|usr\/local)\/)/gm, `${folder}/`);
      return [...functions, 'sudo() { "$@"; }', `cd ${folder}`, moved].join('\n');
    },
  };
}

/** The values of an option that is given several times. */
export function optionsIn(printed: string, option: string): string[] {
  return [...printed.matchAll(new RegExp(`--${option}[= ](\\S+)`, 'g'))].map(([, value = '']) => value);
}
