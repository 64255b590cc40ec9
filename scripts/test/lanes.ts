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
