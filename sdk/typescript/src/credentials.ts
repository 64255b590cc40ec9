import type { Connection } from './requests.ts';

/** An app with its credentials. */
export interface Credentials {
  connection: Connection;
  clientId: string;
  redirectUri: string;
  /** The fields of every body that the app sends. */
  fields: { client_id: string; client_secret: string };
}
