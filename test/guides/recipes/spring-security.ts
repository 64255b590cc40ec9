import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertShowsInvoices, openRecipe, untilListening } from './recipe.ts';

const callback = '/login/oauth2/code/gatehouse';
const { take, desk, env, home, server } = await openRecipe({ section: 'Spring Security', callback });

test('the Spring Security recipe signs a user in and lists invoices', async () => {
  for (const folder of ['src/main/resources', 'src/main/java/com/example']) {
    mkdirSync(join(desk.folder, folder), { recursive: true });
  }
  desk.save('pom.xml', take('xml'));
  desk.save('src/main/resources/application.yaml', take('yaml'));
  desk.save('src/main/java/com/example/App.java', take('java'));

  const program = desk.run(['mvn', '--batch-mode', 'spring-boot:run'], { env });
  await untilListening(program, home);

  await assertShowsInvoices(server, home);
  program.stop();
});
