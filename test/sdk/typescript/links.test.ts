import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { BUSINESS, send, startFaultyServer } from './faulty-server.ts';

test('the next page is found among other links, however they are written', async () => {
  const links: [link: string, cursor: string | undefined][] = [
    ['</x?cursor=a>; rel="next"', 'a'],
    ['</x?cursor=a>; rel=next', 'a'],
    ['</x?cursor=a>; title="more"; rel="next"', 'a'],
    ['</x?cursor=b>; rel="prev", </x?cursor=a>; rel="next"', 'a'],
    ['</x?cursor=a>; rel="next", </x?cursor=b>; rel="prev"', 'a'],
    ['</x?cursor=a>; rel="last next"', 'a'],
    ['</x?cursor=a>;rel="NEXT"', 'a'],
    ['</x?cursor=a> ; REL = next ; title=more', 'a'],
    ['</x?cursor=a>; title="<b>, ; rel=prev"; rel="next"', 'a'],
    ['</x?cursor=b>; rel="prev", nonsense, </x?cursor=a>; rel="next"', 'a'],
    ['</x?cursor=b>; rel="prev"', undefined],
    ['</x?cursor=b>; rel="prev"; rel="next"', undefined],
    ['</x?cursor=b>; title="; rel=next"', undefined],
    ['</x?cursor=b>; rev="next"', undefined],
    ['</x?cursor=b>; rel="next-archive"', undefined],
    ['</x?page=2>; rel="next"', undefined],
    ['nonsense', undefined],
  ];
  for (const [link, cursor] of links) {
    const faultyServer = await startFaultyServer(send(200, [], { link }));
    assert.equal((await faultyServer.api().invoicePage(BUSINESS)).nextCursor, cursor, link);
  }
});

test('a header over 8 KiB is not parsed, and its page does not count as the last', async () => {
  const link = `${'</x>; rel="preload", '.repeat(400)}</x?cursor=a>; rel="next"`;
  const faultyServer = await startFaultyServer(send(200, [], { link }));

  await assert.rejects(faultyServer.api().invoicePage(BUSINESS), { code: 'invalid_response', status: 200 });
});

/** Headers that would make a naive parser scan the same characters repeatedly. */
const HOSTILE = [
  `<x>;rel=${'next '.repeat(800)}${' '.repeat(4000)}""x`,
  `<x>;rel="${'next '.repeat(800)}${' '.repeat(4000)}`,
  `<x>${';rel='.repeat(1600)}`,
  `<x>;${' '.repeat(8000)}`,
  `<x>;rel${' '.repeat(8000)}x`,
  `<x>${';a="'.repeat(2000)}`,
  `<x>${'"'.repeat(8001)}`,
  `<x>"${'<x>'.repeat(2600)}`,
  '<'.repeat(8192),
  '<x>'.repeat(2700),
  '<x>;'.repeat(2000),
];

test('a hostile header is parsed as fast as any other', () => {
  const program = `
    import { createApi } from '${import.meta.resolve('../../../sdk/typescript/src/index.ts')}';
    for (const link of ${JSON.stringify(HOSTILE)}) {
      const fetch = async () => Response.json([], { headers: { link } });
      const api = createApi({ baseUrl: 'https://api.example.com', accessToken: 'gat_1', fetch });
      console.log((await api.invoicePage('${BUSINESS}')).nextCursor);
    }`;

  // Runs in a child process, since a parser that hangs would block this one.
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { timeout: 15_000 });

  assert.equal(String(printed), 'undefined\n'.repeat(HOSTILE.length));
});
