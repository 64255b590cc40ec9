import { mkdtempSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BenchEnvironment, Contender, RunningServer } from '../contender.ts';

/** Gatehouse as it is in another checkout, whose packages are installed. Its own bench seeds and starts it. */
export async function loadOtherCheckout(folder: string): Promise<Contender[]> {
  const module: object = await import(pathToFileURL(resolve(folder, 'bench/contenders/gatehouse.ts')).href);
  return Object.values(module)
    .filter(isContender)
    .map((contender) => ({
      ...contender,
      name: nameOfOther(contender),
      title: `${contender.title}, other`,
      async start(environment: BenchEnvironment) {
        const folder = mkdtempSync(join(environment.folder, 'other-'));
        const older = { people: environment.users };
        return withCurrentNames(await contender.start({ ...environment, ...older, folder }));
      },
    }));
}

/** Older checkouts read `people` instead of `users`, and return `welcome` instead of `signIn`. */
function withCurrentNames(server: RunningServer & { welcome?: RunningServer['signIn'] }): RunningServer {
  return { ...server, signIn: server.signIn ?? server.welcome };
}

export function nameOfOther({ name }: Contender): string {
  return name.replace('gatehouse', 'other');
}

function isContender(value: unknown): value is Contender {
  return typeof value === 'object' && value !== null && 'start' in value && 'name' in value;
}
