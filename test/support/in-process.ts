import { AsyncLocalStorage } from 'node:async_hooks';

interface Output {
  stdout: string;
  stderr: string;
}

const HOME = process.cwd();
const outputs = new AsyncLocalStorage<Output>();
let running = 0;
/** The umask of the tests, while a command is running. */
let usualUmask = 0;

for (const [method, stream] of [
  ['log', 'stdout'],
  ['error', 'stderr'],
] as const) {
  const original = console[method];
  console[method] = (...values: unknown[]) => {
    const output = outputs.getStore();
    if (output) output[stream] += `${values.join(' ')}\n`;
    else original(...values);
  };
}

/** Runs a command in `folder` with the umask of the program, and collects what it prints on the console. */
export async function runInProcess(
  folder: string,
  command: () => Promise<number>,
): Promise<Output & { status: number }> {
  const output: Output = { stdout: '', stderr: '' };
  const umask = process.umask(0o077);
  // Otherwise it is that of another command, which is still running.
  if (running === 0) usualUmask = umask;
  running += 1;
  process.chdir(folder);
  try {
    const status = await outputs.run(output, command);
    return { status, ...output };
  } finally {
    running -= 1;
    if (running === 0) {
      process.chdir(HOME);
      process.umask(usualUmask);
    }
  }
}
