export { type Api, type ApiOptions, type Business, createApi } from './api.ts';
export { type App, type AppOptions, createApp } from './app.ts';
export type { Authorization, AuthorizationOptions, PendingAuthorization } from './authorization.ts';
export { type Failure, GatehouseError } from './errors.ts';
export type { Introspection } from './introspection.ts';
export type { Invoice, InvoicePage, InvoicePageOptions, InvoiceStatus, InvoicesOptions } from './invoices.ts';
export type { KeptTokens } from './token-keeper.ts';
export type { Tokens } from './tokens.ts';
export {
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookOptions,
  type WebhookSecrets,
} from './webhooks.ts';
