import { addBystander, describeBystander } from './bystander.ts';
import { type Product, startProduct } from './product.ts';
import { type Finding, fuzz, type Range, ROUND, type Tally } from './run.ts';

const MOST_MEMORY = 700;

export interface Verdict extends Tally {
  /** The problems found. */
  problems: string[];
  /** The peak memory of the process, in megabytes. */
  memory: number;
  seconds: number;
}

/** Starts the server, sends a range of bad requests, and stops it. */
export async function fuzzProduct(range: Range, report: (line: string) => void = () => {}): Promise<Verdict> {
  const product = await startProduct();
  const begun = performance.now();
  await addBystander(product);
  const before = describeBystander(product);
  let memory = product.memory();
  const tally = await fuzz(product, range, (sent, found) => {
    if (product.isAlive()) memory = Math.max(memory, product.memory());
    const seconds = (performance.now() - begun) / 1000;
    const wrong = found === 0 ? '' : `, ${found} things wrong`;
    report(
      `${sent} of ${range.requests} sent, ${Math.round(sent / seconds)} a second, ${Math.round(memory)} MB${wrong}`,
    );
  });
  const problems = [
    ...tally.findings.map((finding) => describe(range, finding)),
    ...(await lookAfterwards(product, before)),
    ...(memory > MOST_MEMORY ? [`The server took ${Math.round(memory)} MB.`] : []),
  ];
  const seconds = (performance.now() - begun) / 1000;
  const status = await product.stop();
  if (status !== 0) problems.push(`The server ended with ${status}.`);
  return { ...tally, problems, memory, seconds };
}

async function lookAfterwards(product: Product, before: string[]): Promise<string[]> {
  if (!product.isAlive()) return ['The server has died.'];
  const problems: string[] = product.errors.map((line) => `The log has an error: ${line}`);
  const ready = await fetch(`http://127.0.0.1:${product.ports.api}/readyz`);
  if (ready.status !== 200) problems.push(`Afterwards /readyz is ${ready.status}.`);
  const after = describeBystander(product);
  const changed = [...before.filter((row) => !after.includes(row)), ...after.filter((row) => !before.includes(row))];
  if (before.length === 0) problems.push('The bystander has no rows.');
  return [...problems, ...changed.map((row) => `A tenant that took no part has changed: ${row}`)];
}

/** Adds the command that reproduces the problem, from the start of its round. */
function describe({ seed }: Range, { number, problem, sent }: Finding): string {
  const start = number - (number % ROUND);
  const shown = sent.toString('latin1').slice(0, 600);
  return `Request ${number}: ${problem.slice(0, 300)}
  again: npm run fuzz -- --seed ${seed} --from ${start} --requests ${number - start + 1}
  alone: npm run fuzz -- --seed ${seed} --from ${number} --requests 1
  sent:  ${JSON.stringify(shown)}`;
}
