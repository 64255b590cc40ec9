/** Later versions may append fields; version ff is invalid. https://www.w3.org/TR/trace-context/ */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Here and not the SDK's parser, because log lines name the trace while tracing is off, too. */
export function readTraceparent(header: unknown): { traceId: string; spanId: string; traceFlags: number } | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, spanId, flags = '', more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}
