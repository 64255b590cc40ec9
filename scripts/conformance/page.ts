import type { Outcome } from './outcomes.ts';

/** The results by command, `authorization` or a revision. */
export function renderPage(suite: string, results: Map<string, Outcome[]>): string {
  const sections = [...results].map(([name, outcomes]) => renderSection(name, outcomes));
  return `# MCP conformance

The public conformance suite of the Model Context Protocol, \`${suite}\`, runs against the
[MCP server](mcp.md) and its authorization server. This page is written by \`npm run conformance:mcp\`. The suite tests servers of
an SDK, with the tools, prompts and resources of a reference server. Scenarios that need those do not apply to a server with tools of
its own; each is listed with the reason. The suite cannot send an access token, so a proxy in front of the server adds one.

The number of checks that pass is in brackets. In addition, the schema of every message is checked in each scenario of a server, also
in those that do not apply.

${sections.join('\n')}`;
}

function renderSection(name: string, outcomes: Outcome[]): string {
  const isServer = name !== 'authorization';
  const applicable = outcomes.filter(({ reason }) => reason === undefined);
  return `## ${isServer ? `Server, revision ${name}` : 'Authorization server'}

\`${isServer ? `server --requirements ${name}` : 'authorization'}\`

| scenario | result | checks that do not apply |
|---|---|---|
${applicable.map(renderRow).join('\n')}
${renderReasons(outcomes)}`;
}

function renderRow({ scenario, passed, exceptions, problems }: Outcome): string {
  const result = problems.length > 0 ? 'fails' : `passes (${passed})`;
  return `| \`${scenario}\` | ${result} | ${exceptions.join('<br>')} |`;
}

function renderReasons(outcomes: Outcome[]): string {
  const reasons = Map.groupBy(outcomes, ({ reason }) => reason);
  reasons.delete(undefined);
  if (reasons.size === 0) return '';
  const rows = [...reasons].map(
    ([reason, same]) => `| ${reason} | ${same.map(({ scenario }) => `\`${scenario}\``).join(', ')} |`,
  );
  return `
| why scenarios do not apply | |
|---|---|
${rows.join('\n')}
`;
}
