import type { Texts } from '../languages/en.ts';
import type { NoticeText } from '../languages/texts.ts';
import { isolateValues } from './isolation.ts';
import { readNoticeValues } from './notice-values.ts';

export type NoticeKind = keyof Texts['notices'];

/** The values of the text of each kind. */
export type NoticeValues<Kind extends NoticeKind> = Parameters<Texts['notices'][Kind]>[0];

/** Codes, and not names. */
const CODES = ['factor', 'by', 'how', 'two_step', 'why'];

/** Undefined if a newer version recorded it. */
export function noticeText(texts: Texts, kind: string, stored: Record<string, string>): NoticeText | undefined {
  const { notices } = texts;
  if (!Object.hasOwn(notices, kind)) return undefined;
  const values = isolateValues(texts, readNoticeValues(kind, stored), CODES);
  return (notices[kind as NoticeKind] as (values: Record<string, string>) => NoticeText)(values);
}
