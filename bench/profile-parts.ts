interface Frame {
  functionName: string;
  url: string;
}

/** The first match decides. */
const PARTS: [title: string, matches: (frame: Frame, caller: Frame | undefined) => boolean][] = [
  ['SQLite: commits', ({ url, functionName: name }, caller) => !url && (name === 'exec' || isCommit(name, caller))],
  ['SQLite: statements', ({ url, functionName: name }) => !url && ['all', 'get', 'run'].includes(name)],
  ['Hashes and MACs', ({ url, functionName: name }) => /crypto/.test(url) || (!url && /digest|random/i.test(name))],
  ['Writing to sockets', ({ url, functionName: name }) => !url && /^write/.test(name)],
  ['Garbage collection', ({ functionName }) => functionName === '(garbage collector)'],
  ['The event loop and the HTTP parser', ({ functionName }) => functionName === '(program)'],
  ['Gatehouse’s own code (or the bare server’s)', ({ url }) => /\/(?:src|bench\/peers)\/[^:]*\.ts$/.test(url)],
  ['Kysely and the rate limiter', ({ url }) => /node_modules\/(?:kysely|rate-limiter)/.test(url)],
  ['The driver of PostgreSQL', ({ url }) => /node_modules\/(?:pg|postgres)/.test(url)],
  ['Fastify and its dependencies', ({ url }) => url.includes('node_modules')],
  ['Node’s HTTP, streams and promises', () => true],
];

/** Not in the profile, which covers the main thread. */
export const OTHER_THREADS = 'Other threads (WAL sync, garbage collection, compiler)';

export const POSTGRES = 'PostgreSQL, in its own processes';

export const PART_TITLES = [...PARTS.map(([title]) => title), OTHER_THREADS, POSTGRES];

/** Undefined for idle time. */
export function partOf(frame: Frame, caller: Frame | undefined): string | undefined {
  if (['(idle)', '(root)'].includes(frame.functionName)) return undefined;
  return PARTS.find(([, matches]) => matches(frame, caller))?.[0];
}

function isCommit(name: string, caller: Frame | undefined): boolean {
  return name === 'run' && /^commit/.test(caller?.functionName ?? '');
}
