// `npm run fuzz -- --requests 100000 --seed 1`: sends malformed requests to every route of both hosts of a real server, and
// prints wrong responses. The same seed generates the same requests; `--from N` starts at the Nth.
import { parseArgs } from 'node:util';
import { fuzzProduct } from '../test/fuzz/verdict.ts';

const HELP = `Sends malformed requests to every route of both hosts of a real server, and prints wrong responses.

npm run fuzz                        100,000 requests: about two minutes
npm run fuzz -- --requests N        the number of requests
npm run fuzz -- --seed N            other requests; the same seed generates the same ones (default: 1)
npm run fuzz -- --seed N --from M   starts at the Mth request, where an earlier run stopped`;

const range = readRange();
const { reached, responses, problems, slowest, memory, seconds } = await fuzzProduct(range, console.error);
const statuses = [...responses].sort().map(([status, count]) => `${count} × ${status}`);
for (const problem of problems.slice(0, 20)) console.log(`${problem}\n`);
console.log(`${range.requests} requests in ${Math.round(seconds)} s: ${statuses.join(', ')}.`);
console.log(`${reached.size} pairs of a method and a route had a successful response.`);
console.log(`Slowest response: ${Math.round(slowest)} ms. Most memory of the server: ${Math.round(memory)} MB.`);
console.log(problems.length === 0 ? 'No problems found.' : `${problems.length} problems found.`);
process.exitCode = problems.length === 0 ? 0 : 1;

function readRange() {
  try {
    const { values } = parseArgs({
      options: {
        requests: { type: 'string', default: '100000' },
        seed: { type: 'string', default: '1' },
        from: { type: 'string', default: '0' },
        help: { type: 'boolean' },
      },
    });
    if (values.help) exit(HELP, 0);
    const { requests, seed, from } = values;
    return {
      requests: readNumber('requests', requests),
      seed: readNumber('seed', seed),
      from: readNumber('from', from),
    };
  } catch (error) {
    return exit(`${error instanceof Error ? error.message : error}\n\n${HELP}`, 1);
  }
}

function readNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number.`);
  return Number(text);
}

function exit(sentence: string, code: number): never {
  console[code === 0 ? 'log' : 'error'](sentence);
  process.exit(code);
}
