import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A test, or a case of one, with the ids of the checklist items that it covers. */
export interface Claim {
  ids: string[];
  /** The path in the repository. */
  file: string;
  /** Its name in the source, without the ids; interpolations are `…`. */
  name: string;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ID = /\[([A-Z]\d+)\]/g;
const LITERAL = /(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g;

/** Every string in a test with an id: the name of a test, or of a case. */
export function findClaims(): Claim[] {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] }).sort();
  return files.flatMap((file) => {
    const source = readFileSync(`${ROOT}/${file}`, 'utf8');
    return [...source.matchAll(LITERAL)].flatMap(([, , text = '']) => {
      const ids = [...text.matchAll(ID)].map(([, id = '']) => id);
      return ids.length === 0 ? [] : [{ ids, file, name: nameOf(text) }];
    });
  });
}

export function nameOf(text: string): string {
  return text
    .replaceAll(ID, '')
    .replace(/\$\{[^}]*\}/g, '…')
    .replaceAll(/\\(['"`])/g, '$1')
    .trim();
}

/** One test that ran. */
export interface Result {
  file: string;
  name: string;
  isPassed: boolean;
}

/** The result of a claim: a case is part of the name of its test, and interpolations may be anything. */
export function resultOf(claim: Claim, results: Result[]): 'passes' | 'fails' | 'not run' {
  const parts = claim.name.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const pattern = new RegExp(parts.join('.*'), 's');
  // browser-flow.ts registers the tests of the flows, so results name that file.
  const isOwn = (file: string) => file === claim.file || file === 'test/support/browser-flow.ts';
  const own = results.filter(
    ({ file, name }) => isOwn(file) && claim.ids.every((id) => name.includes(`[${id}]`)) && pattern.test(nameOf(name)),
  );
  if (own.length === 0) return 'not run';
  return own.every(({ isPassed }) => isPassed) ? 'passes' : 'fails';
}
