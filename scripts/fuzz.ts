// `npm run fuzz -- --requests 100000 --seed 1`: bad requests to the real server, on every route of both hosts, and what
// is wrong with any answer. The same seed makes the same requests; `--from N` begins at the Nth.
import { parseArgs } from 'node:util';
import { fuzzProduct } from '../test/fuzz/verdict.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
  },
});

const range = { seed: Number(values.seed), from: Number(values.from), requests: Number(values.requests) };
const { reached, answers, problems, slowest, memory, seconds } = await fuzzProduct(range, console.error);
const statuses = [...answers].sort().map(([status, count]) => `${count} × ${status}`);
for (const problem of problems.slice(0, 20)) console.log(`${problem}\n`);
console.log(`${range.requests} requests in ${Math.round(seconds)} s: ${statuses.join(', ')}.`);
console.log(`${reached.size} pairs of a method and a route did what was asked at least once.`);
console.log(`The slowest took ${Math.round(slowest)} ms, the server at most ${Math.round(memory)} MB.`);
console.log(problems.length === 0 ? 'Nothing is wrong.' : `${problems.length} things are wrong.`);
process.exitCode = problems.length === 0 ? 0 : 1;
