/**
 * Where a spreadsheet would detect a formula: at the start of a cell, and after a semicolon, tab or line break inside it.
 * Many locales separate cells by semicolons, and then the quotes, which follow a comma, do not protect a cell.
 */
const FORMULA = /(^|[;\t\r\n])([\s"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const CONTROL_AT_START = /^[\t\r\n]/;

/** RFC 4180, with every cell in quotes. An apostrophe before a formula makes it text. */
export function csvLine(cells: string[]): string {
  return `${cells.map((cell) => `"${withoutFormulas(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

function withoutFormulas(cell: string): string {
  const inert = cell.replace(FORMULA, "$1$2'");
  return CONTROL_AT_START.test(inert) ? `'${inert}` : inert;
}
