/** What a spreadsheet takes for the beginning of a formula, and would run. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** RFC 4180, with every cell in quotes. What looks like a formula gets a mark in front that makes it plain text. */
export function csvLine(cells: string[]): string {
  return `${cells.map((cell) => `"${disarmed(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

function disarmed(cell: string): string {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}
