// `npx node scripts/fuzz-openapi.ts [EXAMPLES]`: runs schemathesis, a fuzzer for OpenAPI documents, over the whole business API of a
// server of its own. It fails on a 5xx, an undocumented status, header or content type, and a body that its schema forbids.
// Needs the program `schemathesis` (from PyPI) on the PATH, or its path in SCHEMATHESIS.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { RESOURCES } from '../src/resources/all.ts';
import { connectBusiness } from '../test/support/business-api.ts';
import { startTestServer } from '../test/support/test-server.ts';

const [examples = '25'] = process.argv.slice(2);
const MANY = '100000000';
const server = await startTestServer({ LIMIT_PER_APP: MANY, LIMIT_PER_GRANT: MANY });
const { token, business } = await connectBusiness(server, 'Fuzzed');
const roots = [...new Set(RESOURCES.map(({ path }) => path.split('/').slice(0, 4).join('/')))];

const child = spawn(
  process.env.SCHEMATHESIS ?? 'schemathesis',
  [
    ...['run', `${server.api}/openapi.json`],
    ...['--header', `Authorization: Bearer ${token}`, '--header', `x-business-id: ${business.id}`],
    ...['--include-path-regex', `^(${roots.join('|')}|/api/v1/me|/api/v1/businesses)`],
    ...['--max-examples', examples, '--continue-on-failure'],
    // A valid body may name a contact that does not exist, and a valid ETag may be outdated.
    ...['--exclude-checks', 'positive_data_acceptance'],
  ],
  { stdio: 'inherit' },
);
child.once('error', () =>
  console.error('There is no schemathesis on the PATH. Install it with pip, or set SCHEMATHESIS.'),
);
const [code] = await once(child, 'close').catch(() => [1]);
process.exit(code);
