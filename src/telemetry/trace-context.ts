import { newNonce } from '../lib/secrets.ts';

/** Where a piece of work belongs: https://www.w3.org/TR/trace-context/ */
export interface TraceContext {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** Versions that are yet to come may have more behind it; version ff there will never be. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

export function readTraceparent(header: unknown): TraceContext | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, spanId, flags = '', more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** A part of what has begun elsewhere, or the beginning of something; of these, every so many are followed. */
export function continueTrace(parent: TraceContext | undefined, ratio: number): TraceContext {
  if (parent) return { ...parent, spanId: newSpanId() };
  const traceId = newNonce(16).toString('hex');
  return { traceId, spanId: newSpanId(), isSampled: isChosen(traceId, ratio) };
}

export function newSpanId(): string {
  return newNonce(8).toString('hex');
}

/** By the id itself, so that every program decides the same way. */
function isChosen(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-13), 16) < ratio * 0x10_0000_0000_0000;
}
