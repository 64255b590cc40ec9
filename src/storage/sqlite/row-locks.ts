import type { KyselyPlugin, SelectQueryNode } from 'kysely';

/** Here a transaction has the whole database: `for update skip locked` means nothing, and is not even understood. */
export const withoutRowLocks: KyselyPlugin = {
  transformQuery: ({ node }) => (node.kind === 'SelectQueryNode' ? omit(node) : node),
  transformResult: async ({ result }) => result,
};

function omit({ endModifiers: _, ...node }: SelectQueryNode): SelectQueryNode {
  return node;
}
