import { existsSync, readFileSync } from 'node:fs';

/** The folder of package.json: the root of a checkout or of the bundle. Files that are read at runtime are below it. */
export const PACKAGE_ROOT = findRoot(new URL('.', import.meta.url));

export const VERSION: string = JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')).version;

function findRoot(folder: URL): URL {
  return existsSync(new URL('package.json', folder)) ? folder : findRoot(new URL('..', folder));
}
