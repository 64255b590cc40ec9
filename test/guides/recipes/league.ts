import { test } from 'node:test';
import { assertShowsInvoices, openRecipe, untilListening } from './recipe.ts';

const { take, workspace, env, home, server } = await openRecipe({
  section: 'league/oauth2-client',
  callback: '/callback',
});

test('the recipe for league/oauth2-client signs a user in and lists invoices', async () => {
  workspace.save('app.php', take('php'));
  await workspace.bash(take('sh'), { env }).waitForExit();

  const program = workspace.run(['php', '-S', new URL(home).host, 'app.php'], { env });
  await untilListening(program, home);

  await assertShowsInvoices(server, home);
  program.stop();
});
