import type { Texts } from '../languages/en.ts';
import type { CommonValues, MailText } from '../languages/texts.ts';
import { isolateValues } from './isolation.ts';

export type MailKind = keyof Texts['mails'];

/** The values of the text of each kind, without those that every text gets. */
export type MailValues<Kind extends MailKind> = Omit<Parameters<Texts['mails'][Kind]>[0], keyof CommonValues>;

export function textOf<Kind extends MailKind>(
  texts: Texts,
  kind: Kind,
  values: MailValues<Kind> & CommonValues,
): MailText {
  return (texts.mails[kind] as (values: MailValues<Kind> & CommonValues) => MailText)(isolateValues(texts, values));
}
