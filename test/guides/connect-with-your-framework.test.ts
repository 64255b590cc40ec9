import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decide } from '../sdk/clients/visitor.ts';
import { ROOT } from '../support/guides.ts';
import { EXPECTED, newVisitor, openRecipe } from './recipes/recipe.ts';

const recipe = await openRecipe({ section: 'Auth.js', callback: '/auth/callback/gatehouse' });

test('the Auth.js recipe signs a user in and lists invoices', async () => {
  const { take, workspace, env, home, server } = recipe;
  assert.equal(take('sh'), 'npm install @auth/core\n');
  workspace.linkPackage('@auth');
  workspace.save('app.mjs', take('js'));
  const program = workspace.run([process.execPath, 'app.mjs'], {
    env: { ...env, AUTH_SECRET: 'a secret of the test' },
  });
  await program.waitForOutput(/^Open (.+)$/m);
  const visitor = newVisitor();

  const { csrfToken } = (await (await visitor.open(`${home}/auth/csrf`)).json()) as { csrfToken: string };
  const body = new URLSearchParams({ csrfToken, callbackUrl: home });
  const sent = await visitor.open(`${home}/auth/signin/gatehouse`, { method: 'POST', body });
  const shown = await visitor.follow(await decide(server, sent.headers.get('location') ?? ''));

  assert.equal(shown.text, EXPECTED);
  program.stop();
});

test('every recipe of the guide is run by a test', () => {
  const guide = readFileSync(join(ROOT, 'docs/guides/connect-with-your-framework.md'), 'utf8');
  const files = ['test/guides/connect-with-your-framework.test.ts', ...recipeFiles()];
  const tested = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
  const sections = [...guide.matchAll(/^## (.+)$/gm)].map(([, section = '']) => section);

  assert.equal(sections.length, 5);
  for (const section of sections) assert.ok(tested.includes(`section: '${section}'`), section);
});

function recipeFiles(): string[] {
  return readdirSync(join(ROOT, 'test/guides/recipes')).map((name) => `test/guides/recipes/${name}`);
}
