import type { Writable } from 'node:stream';

/** As much of a terminal as a progress bar needs. */
type Terminal = Pick<Writable, 'write'> & { isTTY?: boolean | undefined };

const WIDTH = 30;

interface ProgressBar {
  /** `share` is from 0 to 1. */
  show(label: string, share: number, text: string): void;
  clear(): void;
}

/** One line that is drawn again and again. Draws nothing if the output is not a terminal. */
export function createProgressBar(output: Terminal): ProgressBar {
  let last = '';
  const draw = (line: string) => {
    if (!output.isTTY || line === last) return;
    output.write(`\r\u001b[K${line}`);
    last = line;
  };
  return {
    show(label, share, text) {
      const filled = Math.round(Math.min(1, share) * WIDTH);
      draw(`${label} [${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${Math.floor(share * 100)} % ${text}`);
    },
    clear: () => draw(''),
  };
}
