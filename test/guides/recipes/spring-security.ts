import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertShowsInvoices, openRecipe, untilListening } from './recipe.ts';

const callback = '/login/oauth2/code/gatehouse';
const { take, workspace, env, home, server } = await openRecipe({ section: 'Spring Security', callback });

test('the Spring Security recipe signs a user in and lists invoices', async () => {
  for (const folder of ['src/main/resources', 'src/main/java/com/example']) {
    mkdirSync(join(workspace.folder, folder), { recursive: true });
  }
  workspace.save('pom.xml', take('xml'));
  workspace.save('src/main/resources/application.yaml', take('yaml'));
  workspace.save('src/main/java/com/example/App.java', take('java'));

  const program = workspace.run(['mvn', '--batch-mode', 'spring-boot:run'], { env });
  await untilListening(program, home);

  await assertShowsInvoices(server, home);
  program.stop();
});
