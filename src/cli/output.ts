/** A result for people: a line for each field, and a block for each entry of a list. */
export function formatResult(result: object): string {
  return Object.entries(result).map(formatField).join('\n');
}

function formatField([name, value]: [string, unknown]): string {
  if (!Array.isArray(value)) return `${name}: ${value ?? '-'}`;
  if (value.every((item) => typeof item !== 'object')) return `${name}: ${value.join(' ')}`;
  return value.map((item) => formatResult(item)).join('\n\n');
}
