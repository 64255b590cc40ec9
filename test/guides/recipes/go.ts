import { test } from 'node:test';
import { assertShowsInvoices, openRecipe, untilListening } from './recipe.ts';

const { take, workspace, env, home, server } = await openRecipe({ section: 'Go', callback: '/callback' });

test('the Go recipe signs a user in and lists invoices', async () => {
  workspace.save('main.go', take('go'));
  await workspace.bash(`${take('sh')}\ngo build -o app .`, { env }).waitForExit();

  const program = workspace.run(['./app'], { env });
  await untilListening(program, home);

  await assertShowsInvoices(server, home);
  program.stop();
});
