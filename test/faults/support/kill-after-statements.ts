// Preloaded into a server: kills it after KILL_AFTER statements, counted from the first one that contains KILL_FROM.
import { channel } from 'node:diagnostics_channel';

const { KILL_FROM = '', KILL_AFTER } = process.env;
let left = Number(KILL_AFTER);
let hasBegun = false;

channel('gatehouse.statement').subscribe((message) => {
  hasBegun ||= (message as { sql: string }).sql.includes(KILL_FROM);
  if (hasBegun) left -= 1;
  if (left <= 0) process.kill(process.pid, 'SIGKILL');
});
