/**
 * Where a spreadsheet may begin a cell: at the start, and after a semicolon, tab or line break. Many locales separate cells by
 * semicolons, and then the quotes, which follow a comma, do not protect a cell.
 */
const CELL_STARTS = /(?:^|[;\t\r\n])[\s"]*'*/g;
const FORMULA_SIGNS = '=+-@＝＋－＠';
/** A phone number or an amount: a spreadsheet computes nothing from it. */
const PLAIN_NUMBER = /^[+-]\d[\d\s().]*$/;

/** A spreadsheet takes a formula for text if an apostrophe precedes it. */
export function escapeFormulas(cell: string): string {
  return cell.replace(CELL_STARTS, (start, offset) => (isFormula(cell, offset + start.length) ? `${start}'` : start));
}

/** Removes the apostrophes that `escapeFormulas` has added, and no others. */
export function unescapeFormulas(cell: string): string {
  return cell.replace(CELL_STARTS, (start, offset) =>
    start.endsWith("'") && isFormula(cell, offset + start.length) ? start.slice(0, -1) : start,
  );
}

function isFormula(cell: string, start: number): boolean {
  const sign = cell.charAt(start);
  return sign !== '' && FORMULA_SIGNS.includes(sign) && !PLAIN_NUMBER.test(cell.slice(start));
}
