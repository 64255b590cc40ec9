import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createWorkspace, openGuide } from '../support/guides.ts';

const guide = openGuide('bring-your-data');
const workspace = createWorkspace();

/** The guide's reader has a business, and its files are in the folder of the checkout. */
const BEGIN = `
gatehouse migrate > /dev/null
BUSINESS=$(gatehouse business add --name "Test Ltd" --json | sed -E 's/.*"id": ?"([^"]+)".*/\\1/')
`;

const BAD_FILE = `
printf 'name,email,company\\nIda,,Nordwind\\nPer,nowhere,\\n' > bad.csv
gatehouse import "$FOLDER/bad.csv" --business "$BUSINESS" --kind contacts || true
`;

test('the files of the guide are imported and exported, and bad lines are reported as it shows', async () => {
  workspace.save('companies.csv', guide.take('Companies', 'csv'));
  workspace.save('contacts.csv', guide.take('Contacts', 'csv'));
  workspace.save('invoices.jsonl', guide.take('Invoices', 'json'));
  const { folder } = workspace;
  const inFolder = (script: string) => script.replace(/(\w+\.(?:csv|jsonl))/g, '"$FOLDER/$1"');
  const script = [
    BEGIN,
    inFolder(guide.take('Import the files', 'sh')),
    BAD_FILE.replace('> bad.csv', '> "$FOLDER/bad.csv"'),
    inFolder(guide.take('Take it with you', 'sh')),
  ];
  const env = { FOLDER: folder, DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}` };

  const printed = await workspace.bash(script.join('\n'), { cwd: workspace.checkout, env }).waitForExit();

  for (const line of ['Imported: 2 companies.', 'Checked: 2 contacts can be imported.', 'Imported: 2 invoices.']) {
    assert.ok(printed.includes(line), printed);
  }
  assert.ok(printed.includes(guide.take('Bad lines', '')), printed);
  assert.match(printed, /"number":"INV-1","status":"PAID","total":"108.00"/);
});
