import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from '../../src/audit/search.ts';

test('a line has every cell in quotes, doubles the quotes inside, and ends as RFC 4180 says', () => {
  assert.equal(csvLine(['plain', 'a "b", c', 'two\nlines', '']), '"plain","a ""b"", c","two\nlines",""\r\n');
});

for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
  test(`a spreadsheet does not read a cell that begins with ${JSON.stringify(start)} as a formula`, () => {
    assert.equal(csvLine([`${start}HYPERLINK("x")`]), `"'${start}HYPERLINK(""x"")"\r\n`);
  });
}

test('a cell with such a character in the middle is unchanged', () => {
  assert.equal(csvLine(['a=b', '2030-01-01', 'ada@example.com']), '"a=b","2030-01-01","ada@example.com"\r\n');
});

for (const separator of [';', '\t', '\r\n', '\n', '; ', ';"', '"; "']) {
  test(`a spreadsheet that splits cells at ${JSON.stringify(separator)} does not read the rest as a formula`, () => {
    for (const sign of ['=', '+', '-', '@', '＝']) {
      const cell = `Ledger${separator}${sign}cmd|'/c calc'!A1`;
      const quoted = separator.replaceAll('"', '""');
      assert.equal(csvLine([cell]), `"Ledger${quoted}'${sign}cmd|'/c calc'!A1"\r\n`);
    }
  });
}
