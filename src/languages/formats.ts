/** The forms of a noun, by the categories of `Intl.PluralRules`. `#` is the number. */
export type Forms = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** Numbers, plurals and dates of a locale. Dates are in UTC: the server does not know the time zone of the reader. */
export function createFormats(locale: string) {
  const numbers = once(() => new Intl.NumberFormat(locale));
  const plurals = once(() => new Intl.PluralRules(locale));
  const days = once(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }));
  const times = once(
    () => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
  );
  return {
    number: (value: number) => numbers().format(value),
    count: (value: number, forms: Forms) =>
      (forms[plurals().select(value)] ?? forms.other).replace('#', () => numbers().format(value)),
    day: (milliseconds: number) => days().format(milliseconds),
    time: (milliseconds: number) => `${times().format(milliseconds)} UTC`,
  };
}

/** On first use: creating a format takes longer than rendering a page. */
function once<Value>(create: () => Value): () => Value {
  let created: Value | undefined;
  return () => {
    created ??= create();
    return created;
  };
}
