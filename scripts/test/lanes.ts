/** The folders of each lane that `npm test` leaves out, the longest lane first. */
export const LANES: Record<string, string[]> = {
  faults: ['test/faults'],
  nodes: ['test/nodes'],
  browser: ['test/browser'],
  guides: ['test/guides'],
  sdk: ['test/sdk'],
  postgres: ['test/postgres'],
  package: ['test/package', 'test/bench'],
  cli: ['test/cli', 'test/deploy'],
  process: ['test/process', 'test/limits', 'test/telemetry'],
  fuzz: ['test/fuzz'],
};

export const LANE_NAMES = ['all', ...Object.keys(LANES)].join(', ');
export const WITH_POSTGRES = ['all', 'postgres', 'nodes', 'faults', 'guides'];
/** These start `gatehouse` many times, and the bundle takes half as long to start as the sources. */
export const WITH_BUNDLE = ['all', 'nodes', 'faults', 'cli', 'postgres'];
/** These folders of lanes share processes: loading the server takes longer than most of their tests. */
export const SHARED_FOLDERS = [
  'test/browser/',
  'test/sdk/clients/',
  'test/sdk/guard/',
  'test/sdk/typescript/',
  'test/package/',
  'test/bench/',
  'test/cli/',
  'test/deploy/',
  'test/fuzz/',
];
/** These start programs or PostgreSQL, kill processes, or fill a disk. */
export const ON_DISK = ['faults', 'nodes', 'browser', 'guides', 'sdk', 'postgres'];
/** They take longest, so they start first, and then the largest files: otherwise one process would end alone. */
export const FIRST = ['test/http/tenancy/', 'test/http/mcp/', 'test/storage/', 'test/reference/'];
