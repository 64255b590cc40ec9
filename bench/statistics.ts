export interface Spread {
  median: number;
  least: number;
  most: number;
}

export function spreadOf(values: number[]): Spread {
  return { median: quantile(values, 0.5), least: Math.min(...values), most: Math.max(...values) };
}

/** The middle of two where there is no middle one; otherwise the nearest that is not below. */
export function quantile(values: number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  if (share === 0.5 && sorted.length % 2 === 0) {
    return ((sorted[sorted.length / 2 - 1] ?? 0) + (sorted[sorted.length / 2] ?? 0)) / 2;
  }
  const place = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[place] ?? Number.NaN;
}

export interface Latency {
  /** In milliseconds. */
  median: number;
  p99: number;
  requests: number;
}

/** Of several rounds: one in which something else held up the machine is not the contender's doing. */
export function middleOf(latencies: Latency[]): Latency {
  const middle = (of: (latency: Latency) => number) => quantile(latencies.map(of), 0.5);
  const requests = latencies.reduce((sum, latency) => sum + latency.requests, 0);
  return { median: middle(({ median }) => median), p99: middle(({ p99 }) => p99), requests };
}

export function latencyOf(milliseconds: number[]): Latency {
  return { median: quantile(milliseconds, 0.5), p99: quantile(milliseconds, 0.99), requests: milliseconds.length };
}
