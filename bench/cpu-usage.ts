import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds that all threads of a process have run so far; undefined on systems other than Linux. */
export function cpuTimeOf(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.reduce((sum, thread) => sum + runTimeOf(`/proc/${pid}/task/${thread}/schedstat`), 0);
  } catch {
    return undefined;
  }
}

/** The same for the main thread, which runs JavaScript. */
export function cpuTimeOfFirstThread(pid: number): number {
  return runTimeOf(`/proc/${pid}/task/${pid}/schedstat`);
}

/** The same for each child process. */
export function cpuTimesOfChildren(pid: number): Map<number, number> {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    return new Map(children.map((child) => [child, cpuTimeOf(child) ?? 0]));
  } catch {
    return new Map();
  }
}

/** CPU time between two readings, without processes that have ended. */
export function cpuTimeSince(before: Map<number, number>, after: Map<number, number>): number {
  return after.entries().reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0);
}

/** 0 if the thread has ended. */
function runTimeOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0]);
  } catch {
    return 0;
  }
}

/** In bytes; undefined on systems other than Linux. */
export function residentMemoryOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
