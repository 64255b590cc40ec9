import type { Connection } from './requests.ts';

/** An app that can prove who it is. */
export interface Credentials {
  connection: Connection;
  clientId: string;
  redirectUri: string;
  /** What goes into every body that the app sends. */
  fields: { client_id: string; client_secret: string };
}
