import type { FastifyInstance } from 'fastify';
import type { WebDeps } from '../deps.ts';
import { mountAppConnections } from './app-connections.ts';
import { mountAppList } from './app-list.ts';
import { type AppSection, createAppPages } from './app-page.ts';
import { mountAppRequests } from './app-requests.ts';
import { mountAppSecrets } from './app-secrets.ts';
import { mountAppSettings, showSettings } from './app-settings.ts';
import { mountAppStatus } from './app-status.ts';
import { mountNewApp } from './new-app.ts';
import { mountPlayground } from './playground/routes.ts';
import { mountWebhooks } from './webhooks/routes.ts';

export function mountAppPages(host: FastifyInstance, deps: WebDeps, section: AppSection): void {
  const pages = createAppPages(deps, section);
  mountAppList(host, pages);
  mountNewApp(host, pages);
  mountAppSettings(host, pages);
  mountAppSecrets(host, pages, (...shown) => showSettings(pages, ...shown));
  mountAppStatus(host, pages);
  mountAppRequests(host, pages);
  mountAppConnections(host, pages);
  mountWebhooks(host, pages);
  mountPlayground(host, pages);
}
