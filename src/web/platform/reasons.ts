import { findLastAct } from '../../audit/act-log.ts';
import type { Action } from '../../audit/acts.ts';
import { type Html, html } from '../../lib/html.ts';
import { readReason } from '../../lib/names.ts';
import type { Database } from '../../storage/storage.ts';
import { type Form, input, type Problem, text } from '../forms.ts';

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

/** As it was typed into `reasonField`; empty if nothing was. */
export function readReasonField(form: Form | undefined): string {
  return readReason('reason', text(form ?? {}, 'reason'));
}

/** As a detail of an audit entry. */
export function reasonDetail(form: Form | undefined): Record<string, string> {
  const reason = readReasonField(form);
  return reason === '' ? {} : { reason };
}

/** The reason of the latest such action. */
export async function findReason(db: Database, subjectId: string, action: Action): Promise<string | undefined> {
  return (await findLastAct(db, subjectId, action))?.detail.reason;
}

export function reasonText(reason: string | undefined): Html | undefined {
  return reason === undefined ? undefined : html`<p>Reason: ${reason}</p>`;
}
