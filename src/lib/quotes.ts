/** The marks of a language around a quoted name. `QUOTED` matches each of them. */
type Marks = '“”' | '„“';

/** A quoted name, with its marks. */
export const QUOTED = /[“„][^“”„]*[”“]/gu;

/** Every other quotation mark would look like the end of the quotation. An apostrophe would not. */
const QUOTATION_MARK = /(?!['’])\p{Quotation_Mark}/gu;

/** For a name in a sentence, which others have chosen. They cannot end the quotation and go on with words of their own. */
export function quoteIn(marks: Marks): (name: string) => string {
  return (name) => `${marks[0]}${name.replace(QUOTATION_MARK, '’')}${marks[1]}`;
}
