import { test } from 'node:test';
import { assertShowsInvoices, openRecipe, untilListening } from './recipe.ts';

const { take, workspace, env, home, server } = await openRecipe({ section: 'Authlib', callback: '/callback' });

test('the Authlib recipe signs a user in and lists invoices', async () => {
  workspace.save('app.py', take('python'));
  await workspace.bash(`python3 -m venv venv; . venv/bin/activate; ${take('sh')}`, { env }).waitForExit();

  const program = workspace.run(['venv/bin/python', 'app.py'], { env: { ...env, SECRET_KEY: 'a key of the test' } });
  await untilListening(program, home);

  await assertShowsInvoices(server, home);
  program.stop();
});
