// `npm run recipes`: runs the programs of docs/guides/connect-with-your-framework.md against a real server, each with the tools
// and packages it needs, and programs from npm that connect to the MCP server. Downloads packages. A recipe whose tool this machine
// lacks is listed as not run.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const HOME = fileURLToPath(new URL('..', import.meta.url));

/** The file of each recipe, and the commands that it calls. */
const RECIPES: Record<string, string[]> = {
  'test/guides/connect-with-your-framework.test.ts': ['node'],
  'test/guides/recipes/authlib.ts': ['python3'],
  'test/guides/recipes/go.ts': ['go'],
  'test/guides/recipes/mcp-inspector.ts': ['npm'],
  'test/guides/recipes/mcp-remote.ts': ['npm'],
  'test/guides/recipes/league.ts': ['php', 'composer'],
  'test/guides/recipes/spring-security.ts': ['java', 'mvn'],
};

const outcomes = Object.entries(RECIPES).map(([file, tools]) => [file, run(file, tools)] as const);
console.log('\n| recipe | outcome |\n|---|---|');
for (const [file, outcome] of outcomes) console.log(`| ${file} | ${outcome} |`);
process.exitCode = outcomes.some(([, outcome]) => outcome === 'failed') ? 1 : 0;

function run(file: string, tools: string[]): string {
  const missing = tools.filter((tool) => !isInstalled(tool));
  if (missing.length > 0) return `not run: ${missing.join(' and ')} not found`;
  const { status } = spawnSync(process.execPath, ['--test', file], { cwd: HOME, stdio: 'inherit' });
  return status === 0 ? 'passed' : 'failed';
}

function isInstalled(tool: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;
}
