export { type Api, type ApiOptions, type Business, createApi } from './api.ts';
export { type App, type AppOptions, createApp, type RefreshOptions } from './app.ts';
export type { Authorization, AuthorizationOptions, PendingAuthorization } from './authorization.ts';
export { type Failure, GatehouseError } from './errors.ts';
export { EVENT_TYPES, type EventType, type GatehouseEvent } from './event-types.ts';
export type { EventPage, EventPageOptions, EventsOptions } from './events.ts';
export type { Introspection } from './introspection.ts';
export type { Invoice, InvoicePage, InvoicePageOptions, InvoiceStatus, InvoicesOptions } from './invoices.ts';
export type { Me } from './me.ts';
export { ERROR_CODES, type ErrorCode, SCOPES, type Scope } from './names.ts';
export type { CallOptions } from './signals.ts';
export type { KeptTokens } from './token-keeper.ts';
export type { Tokens } from './tokens.ts';
export {
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookOptions,
  type WebhookSecrets,
} from './webhooks.ts';
