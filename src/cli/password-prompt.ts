import { text as readAll } from 'node:stream/consumers';

/** Reads from a terminal without echo, or from a pipe. Unlike an argument, it is not visible to other processes. */
export async function askPassword(): Promise<string> {
  if (!process.stdin.isTTY) return (await readAll(process.stdin)).replace(/\r?\n$/, '');
  process.stderr.write('Password: ');
  process.stdin.setRawMode(true);
  try {
    return await readLine();
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stderr.write('\n');
  }
}

async function readLine(): Promise<string> {
  let line = '';
  for await (const chunk of process.stdin.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    for (const character of chunk as string) {
      if (character === '\r' || character === '\n' || character === '\u0004') return line;
      if (character === '\u0003') process.exit(130);
      line = character === '\u007f' ? line.slice(0, -1) : line + character;
    }
  }
  return line;
}
