// `node scripts/measure-overload.ts [--seconds 60]`: what becomes of a server of which too much is asked. First the most
// that it answers, by callers who each wait for their answer; then twice as much, sent whether or not it keeps up; then how
// soon it is itself again; and at last how the token endpoint fares while 500 people sign in at once. The server is a
// process of its own on SQLite; the callers are on the same machine, and take their share of it.
import { parseArgs } from 'node:util';
import { type Answer, type Caller, newCaller } from './overload/caller.ts';
import { type Subject, startSubject } from './overload/subject.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const OVERLOAD = Number(values.seconds) * 1000;
const MAX_CALLERS = 2000;
const GRANTS = 50;

const subject = await startSubject(GRANTS);
const before = subject.memory();
let peak = 0;
for (const callers of [8, 64, 256]) {
  const { rate, line } = await callInTurn(callers, 5000);
  console.log(`${callers} callers in turn: ${line}`);
  peak = Math.max(peak, rate);
}
console.log(
  `Peak: ${Math.round(peak)} requests a second; memory ${Math.round(before)} MB at first, ${Math.round(subject.memory())} MB now.`,
);
await callRegardless(2 * peak, OVERLOAD);
await watchRecovery();
await measureSignIns();
await subject.stop();

function raise(): never {
  throw new Error('There are as many tokens as grants.');
}

interface Call {
  status: number;
  took: number;
}

/** Every other one writes: the refresh of a grant of its own. */
function newRequester(place: number): { next(): string; hear(answer: Answer): void } {
  const { ports, businessId, credentials, tokens } = subject;
  // A refresh token is valid once, so each caller that refreshes has its own grant.
  const isWriter = place < GRANTS && place % 2 === 0;
  const own = tokens[isWriter ? place : (2 * place + 1) % GRANTS] ?? raise();
  const head = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${ports.api}\r\n`;
  return {
    next() {
      if (!isWriter) {
        const lines = `Authorization: Bearer ${own.access_token}\r\nx-business-id: ${businessId}\r\n\r\n`;
        return head('GET', '/api/v1/accounting/invoices') + lines;
      }
      const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token: own.refresh_token, ...credentials });
      const lines = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      return head('POST', '/api/v1/oauth/token') + lines + body;
    },
    hear({ status, body }) {
      if (isWriter && status === 200) own.refresh_token = JSON.parse(body).refresh_token;
    },
  };
}

interface Line {
  caller: Caller;
  requester: ReturnType<typeof newRequester>;
}

function openLine(place: number): Line {
  return { caller: newCaller(subject.ports.api), requester: newRequester(place) };
}

async function callOnce({ caller, requester }: Line, calls: Call[]): Promise<void> {
  const begun = performance.now();
  const answer = await caller.call(requester.next());
  requester.hear(answer);
  calls.push({ status: answer.status, took: performance.now() - begun });
}

async function callInTurn(callers: number, lasts: number): Promise<{ rate: number; line: string }> {
  const calls: Call[] = [];
  const begun = performance.now();
  const lines = Array.from({ length: callers }, (_, place) => openLine(place));
  await Promise.all(
    lines.map(async (line) => {
      while (performance.now() - begun < lasts) await callOnce(line, calls);
      line.caller.close();
    }),
  );
  return {
    rate: calls.length / ((performance.now() - begun) / 1000),
    line: describe(calls, performance.now() - begun),
  };
}

/** Over connections that were there before, as those of a proxy are. What finds none that is free is not sent at all. */
async function callRegardless(rate: number, lasts: number): Promise<void> {
  const calls: Call[] = [];
  const free = await openLines(MAX_CALLERS);
  let [asked, unsent, most] = [0, 0, 0];
  const begun = performance.now();
  const newcomers = watchNewcomers(lasts);
  while (performance.now() - begun < lasts) {
    const due = Math.floor((rate * (performance.now() - begun)) / 1000) - asked;
    asked += due;
    const lines = free.splice(0, due);
    unsent += due - lines.length;
    for (const line of lines) callOnce(line, calls).then(() => free.push(line));
    most = Math.max(most, subject.memory());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  console.log(`Twice the peak for ${lasts / 1000} s: ${describe(calls, lasts)}; ${unsent} found no line.`);
  console.log(
    `  memory at most ${Math.round(most)} MB; /healthz over new connections: ${describe(await newcomers, 0)}`,
  );
  for (const { caller } of free) caller.close();
}

/** One after the other, each with a first call, so that none has to wait for the others. */
async function openLines(count: number): Promise<Line[]> {
  const lines = Array.from({ length: count }, (_, place) => openLine(place));
  for (const line of lines) await callOnce(line, []);
  return lines;
}

async function watchNewcomers(lasts: number): Promise<Call[]> {
  const calls: Call[] = [];
  for (const begun = performance.now(); performance.now() - begun < lasts; ) {
    const [caller, asked] = [newCaller(subject.ports.api), performance.now()];
    const { status } = await caller.call('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    calls.push({ status, took: performance.now() - asked });
    caller.close();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return calls;
}

/** Until five answers in a row take no longer than on a quiet day. */
async function watchRecovery(): Promise<void> {
  const line = openLine(1);
  const begun = performance.now();
  for (let inRow = 0; inRow < 5; ) {
    const calls: Call[] = [];
    await callOnce(line, calls);
    inRow = calls.every(({ status, took }) => status === 200 && took < 50) ? inRow + 1 : 0;
  }
  line.caller.close();
  const took = performance.now() - begun;
  console.log(`Itself again after ${Math.round(took)} ms; memory ${Math.round(subject.memory())} MB.`);
}

async function measureSignIns(): Promise<void> {
  const line = openLine(0);
  const quiet: Call[] = [];
  for (let i = 0; i < 200; i++) await callOnce(line, quiet);
  const [busy, signIns] = [[] as Call[], signInAtOnce(subject, 500)];
  let isOver = false;
  const over = signIns.then((answers) => {
    isOver = true;
    return answers;
  });
  while (!isOver) await callOnce(line, busy);
  const statuses = (await over).map((status) => ({ status, took: 0 }));
  line.caller.close();
  console.log(`Refreshes, one after the other: ${describe(quiet, 0)}`);
  console.log(`  while 500 sign in at once:    ${describe(busy, 0)}`);
  console.log(`  the 500 were answered with    ${countStatuses(statuses)}`);
}

async function signInAtOnce({ browse }: Subject, people: number): Promise<number[]> {
  const browser = browse();
  const csrf = await browser.csrf();
  const signIn = async (_: unknown, place: number) =>
    (await browser.post('/sign-in', { csrf, email: `${place}@example.com`, password: 'wrong password' })).status;
  return Promise.all(Array.from({ length: people }, signIn));
}

function describe(calls: Call[], lasted: number): string {
  const served = calls.filter(({ status }) => status === 200).map(({ took }) => took);
  const refused = calls.filter(({ status }) => status !== 200).map(({ took }) => took);
  const rate = lasted > 0 ? `${Math.round(served.length / (lasted / 1000))} served a second; ` : '';
  return `${rate}${countStatuses(calls)}; served within ${spread(served)}, refused within ${spread(refused)}`;
}

function countStatuses(calls: Call[]): string {
  const counts = Map.groupBy(calls, ({ status }) => status);
  return [...counts].map(([status, list]) => `${list.length} × ${status}`).join(', ');
}

function spread(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return sorted.length === 0 ? 'none' : `${at(0.5)}/${at(0.99)}/${at(1)} ms (median, 99 %, longest)`;
}
