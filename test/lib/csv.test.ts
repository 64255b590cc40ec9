import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from '../../src/audit/search.ts';
import { escapeFormulas, unescapeFormulas } from '../../src/lib/csv.ts';

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

test('a phone number and an amount are unchanged, and what a spreadsheet would compute is not', () => {
  for (const plain of ['+44 (0)20 7946 0018', '-12.50', '+1.5']) assert.equal(escapeFormulas(plain), plain);
  for (const formula of ['+1+1', '-A1', '+44;=x()', '-1|cmd', '=1']) {
    assert.ok(escapeFormulas(formula).startsWith(formula.startsWith('+44') ? "'+44;'=" : "'"), formula);
  }
});

test('every cell is read as it was before its formulas were escaped', () => {
  const parts = ['', "'", "''", '=', '+', '-1', 'a', ';', '\n', '"', ' '];
  for (const one of parts) {
    for (const two of parts) {
      for (const three of parts) {
        for (const four of parts) {
          const cell = [one, two, three, four, 'x()'].join('');
          assert.equal(unescapeFormulas(escapeFormulas(cell)), cell);
        }
      }
    }
  }
});

test('a cell of nothing but spaces and line breaks is escaped at once', () => {
  const started = performance.now();
  escapeFormulas('\n '.repeat(1_000_000));

  assert.ok(performance.now() - started < 1000);
});
