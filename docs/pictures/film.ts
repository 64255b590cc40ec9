import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { PACKAGE_ROOT } from '../../src/lib/package.ts';
import { Camera } from './camera.ts';
import { writeFilm, writePicture } from './encode.ts';
import { STEPS, tellStory } from './story.ts';

/** Films the first minute with the product: the demo, in both themes. The demo listens on its default ports. */
export async function takeFilm(browser: Browser, out: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const suffix = colorScheme === 'dark' ? '-dark' : '';
    const camera = await Camera.open(browser, colorScheme, STEPS);
    const demo = await startDemo();
    const { still } = await tellStory({ browser, colorScheme, camera, output: demo.output }).finally(demo.stop);
    await writeFilm(`${out}/film${suffix}.webp`, camera.frames);
    await writePicture(`${out}/film-still${suffix}.png`, still);
    console.log(`${out}: film, ${colorScheme}`);
  }
}

/** What `npm start` runs, with its data in a temporary folder. */
async function startDemo() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-film-'));
  const command = [fileURLToPath(new URL('src/cli/main.js', PACKAGE_ROOT)), 'demo'];
  const demo = spawn(process.execPath, command, {
    cwd: folder,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(demo, 'exit');
  const stop = async () => {
    demo.kill();
    await ended;
    rmSync(folder, { recursive: true });
  };
  try {
    return { output: await readWelcome(demo), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function readWelcome({ stdout }: ChildProcess): Promise<string> {
  let output = '';
  for await (const chunk of stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    output += chunk;
    if (output.includes('Press Ctrl+C')) return output.trim();
  }
  throw new Error('The demo has ended.');
}
