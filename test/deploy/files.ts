import { readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';

const ROOT = new URL('../../', import.meta.url);

export function readText(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

export const { version, optionalDependencies } = JSON.parse(readText('package.json'));

export const SETTINGS = [...readText('docs/reference/settings.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(
  ([, name = '']) => name,
);

/** Variables that Node or the system reads. */
const OTHERS = ['NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'PATH'];

export function unknownVariables(names: string[]): string[] {
  return names.filter((name) => !SETTINGS.includes(name) && !OTHERS.includes(name));
}

/** The maximum time that a node takes to shut down, in seconds, as the guide states it. */
export const SHUTDOWN = Number(
  /\| shutdown of a node \| (\d+) s \|/.exec(readText('docs/guides/run-in-production.md'))?.[1],
);

export interface Instruction {
  name: string;
  text: string;
}

/** The stages of the Dockerfile, each a list of instructions. The first instruction is its FROM. */
export function readStages(): Instruction[][] {
  const lines = readText('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n');
  const stages: Instruction[][] = [];
  for (const line of lines.filter((line) => line.trim() !== '')) {
    const [, name = '', text = ''] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, text });
  }
  return stages;
}

/** The last stage, which is the image. */
export function readImage() {
  const stage = readStages().at(-1) ?? [];
  const find = (name: string) => stage.filter((each) => each.name === name).map(({ text }) => text);
  const [health = ''] = find('HEALTHCHECK');
  return {
    find,
    env: Object.fromEntries(find('ENV').flatMap((text) => text.split(/ +/).map((pair) => pair.split('=')))),
    user: find('USER')[0] ?? '',
    healthCheck: JSON.parse(/CMD (\[.*\])$/.exec(health)?.[1] ?? '[]') as string[],
    entrypoint: JSON.parse(find('ENTRYPOINT')[0] ?? '[]') as string[],
    command: JSON.parse(find('CMD')[0] ?? '[]') as string[],
  };
}

/** Whether .dockerignore excludes a file. The last pattern that matches the path or a parent folder decides. */
export function isIgnored(path: string): boolean {
  const parts = path.split('/');
  const folders = parts.map((_, i) => parts.slice(0, i + 1).join('/'));
  const patterns = readText('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const last = patterns.findLast((pattern) => folders.some((folder) => matchesGlob(folder, pattern.replace(/^!/, ''))));
  return last !== undefined && !last.startsWith('!');
}
