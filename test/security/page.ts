import { CHECKLIST, type Item } from './checklist.ts';
import type { Claim } from './claims.ts';

const HEAD = `# What we promise, and what proves it

Each line below is something that an attacker, a broken client or a strict auditor will try. The tests beside it try it
against the real server, on both databases where it speaks HTTP. An item marked (wanted) is not mandatory; all others are,
and the suite fails if one of them has no test.

Sources: RFC numbers; BCP is RFC 9700, 2.1 the draft of OAuth 2.1, V… OWASP ASVS 5.0, SW Standard Webhooks.

This page is written by \`npm run security-report\`, from a run of the whole suite. In the name of a test, … stands for what
is filled in when it runs: such a test runs once for each of several cases.
`;

/** The page of the reference: every item with its tests and their results. */
export function renderPage(claims: Claim[], resultOf: (claim: Claim) => string): string {
  const sections = CHECKLIST.map(({ title, items }) => {
    const rows = items.flatMap((item) => rowsOf(item, claims, resultOf));
    return `## ${title}\n\n| item | promise | test | result |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [HEAD, ...sections].join('\n');
}

function rowsOf(item: Item, claims: Claim[], resultOf: (claim: Claim) => string): string[] {
  const own = claims.filter(({ ids }) => ids.includes(item.id));
  const promise = `${item.promise}.${item.isMandatory ? '' : ' (wanted)'} *${item.sources}*`;
  if (own.length === 0) return [`| ${item.id} | ${cell(promise)} | none | – |`];
  return own.map((claim, index) => {
    const test = `${claim.name} (\`${claim.file}\`)`;
    const [id, text] = index === 0 ? [item.id, cell(promise)] : ['', ''];
    return `| ${id} | ${text} | ${cell(test)} | ${resultOf(claim)} |`;
  });
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

/** The page without results, which are known only after a run. */
export function withoutResults(page: string): string {
  return page.replace(/ \| (?:passes|fails|not run) \|$/gm, ' | |');
}
