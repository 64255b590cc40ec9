import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from '../../src/lib/csv.ts';

test('a line has every cell in quotes, doubles the quotes inside, and ends as RFC 4180 says', () => {
  assert.equal(csvLine(['plain', 'a "b", c', 'two\nlines', '']), '"plain","a ""b"", c","two\nlines",""\r\n');
});

for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
  test(`a cell that begins with ${JSON.stringify(start)} is no formula to a spreadsheet`, () => {
    assert.equal(csvLine([`${start}HYPERLINK("x")`]), `"'${start}HYPERLINK(""x"")"\r\n`);
  });
}

test('what only contains such a character is left as it is', () => {
  assert.equal(csvLine(['a=b', '2030-01-01', 'ada@example.com']), '"a=b","2030-01-01","ada@example.com"\r\n');
});
