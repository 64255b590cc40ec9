/** What is neither, like VACUUM or PRAGMA, belongs in no transaction. */
export type Kind = 'read' | 'write' | 'other';

const READS = /^\s*(?:select|values)\b/i;
const WRITES = /^\s*(?:insert|update|delete|replace|create|alter|drop)\b/i;

/** Whether it reads or writes is said after its tables. A name that looks like a verb only makes it wait for its turn. */
const WITH = /^\s*with\b/i;
const WRITES_AFTER_WITH = /\b(?:insert|update|delete|replace\s+into)\b/i;

export function kindOf(text: string): Kind {
  if (WITH.test(text)) return WRITES_AFTER_WITH.test(text) ? 'write' : 'read';
  if (READS.test(text)) return 'read';
  return WRITES.test(text) ? 'write' : 'other';
}
