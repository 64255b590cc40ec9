import { StorageUnavailable } from '../errors.ts';
import { translate } from './sqlite-errors.ts';
import { type Begin, BUSY_MS, begin } from './sqlite-turns.ts';

/**
 * While a writer waits for another process, this one does nothing else. So only the first waits: once that was in vain,
 * everyone else is refused at once, until someone is let in.
 */
export function waitingOnce(beginPatiently: Begin): Begin {
  let isLocked = false;
  return (connection) => {
    const wait = isLocked ? beginAtOnce : beginPatiently;
    try {
      wait(connection);
      isLocked = false;
    } catch (error) {
      isLocked = translate(error) instanceof StorageUnavailable;
      throw error;
    }
  };
}

const beginAtOnce: Begin = (connection) => {
  const { file } = connection;
  file.exec('pragma busy_timeout = 0');
  try {
    begin(connection);
  } finally {
    file.exec(`pragma busy_timeout = ${BUSY_MS}`);
  }
};
