// `npm run fuzz -- --requests 100000 --seed 1`: bad requests to the real server, on every route of both hosts, and what
// is wrong with any answer. The same seed makes the same requests; `--from N` begins at the Nth.
import { parseArgs } from 'node:util';
import { fuzzProduct } from '../test/fuzz/verdict.ts';

const HELP = `Sends bad requests to the real server, on every route of both hosts, and says what is wrong with any answer.

npm run fuzz                        100,000 requests: about two minutes
npm run fuzz -- --requests N        so many
npm run fuzz -- --seed N            others; the same seed makes the same ones (1 if left out)
npm run fuzz -- --seed N --from M   begins at the Mth, where an earlier run stopped`;

const range = readRange();
const { reached, answers, problems, slowest, memory, seconds } = await fuzzProduct(range, console.error);
const statuses = [...answers].sort().map(([status, count]) => `${count} × ${status}`);
for (const problem of problems.slice(0, 20)) console.log(`${problem}\n`);
console.log(`${range.requests} requests in ${Math.round(seconds)} s: ${statuses.join(', ')}.`);
console.log(`${reached.size} pairs of a method and a route did what was asked at least once.`);
console.log(`The slowest took ${Math.round(slowest)} ms, the server at most ${Math.round(memory)} MB.`);
console.log(problems.length === 0 ? 'Nothing is wrong.' : `${problems.length} things are wrong.`);
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
    if (values.help) leave(HELP, 0);
    const { requests, seed, from } = values;
    return {
      requests: readNumber('requests', requests),
      seed: readNumber('seed', seed),
      from: readNumber('from', from),
    };
  } catch (error) {
    return leave(`${error instanceof Error ? error.message : error}\n\n${HELP}`, 1);
  }
}

function readNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} is a whole number.`);
  return Number(text);
}

function leave(sentence: string, code: number): never {
  console[code === 0 ? 'log' : 'error'](sentence);
  process.exit(code);
}
