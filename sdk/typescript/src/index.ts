export { type Api, type ApiOptions, type Business, createApi } from './api.ts';
export { type App, type AppOptions, createApp, type RefreshOptions } from './app.ts';
export type { Authorization, AuthorizationOptions, PendingAuthorization } from './authorization.ts';
export type { BusinessApi } from './business-api.ts';
export { type Failure, type FieldError, GatehouseError } from './errors.ts';
export { EVENT_TYPES, type EventType, type GatehouseEvent } from './event-types.ts';
export type { EventPage, EventPageOptions, EventsOptions } from './events.ts';
export type { Introspection } from './introspection.ts';
export type { InvoicePage, InvoicePageOptions, InvoicesOptions } from './invoice-pages.ts';
export type { Me } from './me.ts';
export { ERROR_CODES, type ErrorCode, SCOPES, type Scope } from './names.ts';
export type { RequestOptions } from './own-requests.ts';
export type { Page } from './paging.ts';
export type { ChangeOptions, Changes, ListOptions, Records, WritableRecords, WriteOptions } from './records.ts';
export type { ApiResponse } from './requests.ts';
export type * from './resources.ts';
export type { CallOptions } from './signals.ts';
export type { KeptTokens } from './token-refresher.ts';
export type { StoredTokens, Tokens } from './tokens.ts';
export {
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookOptions,
  type WebhookSecrets,
} from './webhooks.ts';
