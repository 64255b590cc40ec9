import { findLastAct } from '../../audit/act-log.ts';
import type { Action } from '../../audit/acts.ts';
import { type Html, html } from '../../lib/html.ts';
import { readReason } from '../../lib/names.ts';
import type { Database } from '../../storage/storage.ts';
import { type Form, input, type Problem, text } from '../forms.ts';

/** What a platform admin may say about a step that others will wonder about. */
export function reasonField({
  hint,
  value,
  problem,
}: {
  hint: string;
  value: string;
  problem: Problem | undefined;
}): Html {
  return input({ name: 'reason', label: 'Reason (optional)', hint, value, optional: true }, problem);
}

/** As a detail of the act; none where nothing was said. */
export function reasonDetail(form: Form | undefined): Record<string, string> {
  const reason = readReason('reason', text(form ?? {}, 'reason'));
  return reason === '' ? {} : { reason };
}

/** What was said when it was last done. */
export async function findReason(db: Database, subjectId: string, action: Action): Promise<string | undefined> {
  return (await findLastAct(db, subjectId, action))?.detail.reason;
}

export function reasonText(reason: string | undefined): Html | undefined {
  return reason === undefined ? undefined : html`<p>Reason: ${reason}</p>`;
}
