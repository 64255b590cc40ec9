import { derivedId, isId } from '../lib/ids.ts';
import type { App } from './apps.ts';

/**
 * The id of the app that presents this `client_id`: the id itself if the app is registered here, otherwise derived from it.
 * So a `client_id` of any length is found by the primary key, and two first Allows at once create one row.
 */
export function appIdOf(clientId: string): string {
  return isId(clientId) ? clientId : derivedId(clientId);
}

/** The id of an external app is not its `client_id`: compare what a request presents with this. */
export function clientIdOf({ id, externalClientId }: Pick<App, 'id' | 'externalClientId'>): string {
  return externalClientId ?? id;
}
