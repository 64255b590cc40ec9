export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spreadOf(values: number[]): Spread {
  return { median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}

/** The median of an even number is the mean of the middle two; other quantiles are the nearest rank. */
export function quantile(values: number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  if (share === 0.5 && sorted.length % 2 === 0) {
    return ((sorted[sorted.length / 2 - 1] ?? 0) + (sorted[sorted.length / 2] ?? 0)) / 2;
  }
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[index] ?? Number.NaN;
}

export interface Latency {
  /** In milliseconds. */
  median: number;
  p99: number;
  requests: number;
}

/** The median of several rounds: excludes a round in which the machine was disturbed. */
export function medianOf(latencies: Latency[]): Latency {
  const median = (of: (latency: Latency) => number) => quantile(latencies.map(of), 0.5);
  const requests = latencies.reduce((sum, latency) => sum + latency.requests, 0);
  return { median: median(({ median }) => median), p99: median(({ p99 }) => p99), requests };
}

export function latencyOf(milliseconds: number[]): Latency {
  return { median: quantile(milliseconds, 0.5), p99: quantile(milliseconds, 0.99), requests: milliseconds.length };
}
