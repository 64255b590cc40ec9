import { newCleaningMetrics } from './cleaning.ts';
import { newRefusalMetrics } from './refusals.ts';
import { newRequestMetrics } from './requests.ts';
import { newTraceMetrics } from './tracing.ts';

export type Meters = ReturnType<typeof newMeters>;

/** What is counted as it happens. It is counted whether or not anyone asks: that costs less than a line of the log. */
export function newMeters() {
  const [requests, refusals, cleaning] = [newRequestMetrics(), newRefusalMetrics(), newCleaningMetrics()];
  const spans = newTraceMetrics();
  return {
    metrics: [...requests.metrics, ...refusals.metrics, ...cleaning.metrics, spans.metric],
    ofHost: requests.ofHost,
    refusalsOf: refusals.ofLimit,
    cleaning: cleaning.meter,
    countSpans: spans.add,
  };
}
