import type { Texts } from '../languages/en.ts';

const FIRST_STRONG_ISOLATE = '\u2068';
const POP_DIRECTIONAL_ISOLATE = '\u2069';

/** In plain text that is written from right to left, names and addresses keep their own direction. */
export function isolateValues<Values extends object>(
  { direction }: Texts,
  values: Values,
  except: readonly string[] = [],
): Values {
  if (direction === 'ltr') return values;
  const isolated = Object.entries(values).map(([name, value]) => {
    const isName = typeof value === 'string' && value !== '' && !except.includes(name);
    return [name, isName ? FIRST_STRONG_ISOLATE + value + POP_DIRECTIONAL_ISOLATE : value];
  });
  return Object.fromEntries(isolated) as Values;
}
