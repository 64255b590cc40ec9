import { type Html, html } from '../../lib/html.ts';
import { isLoopbackHost } from '../../lib/ip-addresses.ts';
import type { WebDeps } from '../deps.ts';
import { copyable } from '../forms.ts';

/** An AI assistant that people use, and how it connects to an MCP server. */
export interface Assistant {
  name: string;
  /** Where it publishes its client metadata document; undefined if it only registers itself. */
  documentHost?: string;
  /** Whether it calls from the servers of its maker, not from the computer of its user. */
  isHosted: boolean;
  steps: (address: string) => Html[];
  /** Where its settings take the `client_id` of a registered app. */
  clientIdSetting: string;
}

/** The menus of assistants change, so each step names what to look for. */
export const ASSISTANTS: Assistant[] = [
  {
    name: 'Claude',
    documentHost: 'claude.ai',
    isHosted: true,
    clientIdSetting: 'Advanced settings of the connector',
    steps: (address) => [
      html`On the web or in the desktop app, open <strong>Customize</strong>, then <strong>Connectors</strong>. Click <strong>+</strong> and <strong>Add custom connector</strong>.`,
      html`Enter a name, paste the address and click <strong>Add</strong>.`,
      html`Click <strong>Connect</strong>. Sign in here and allow what it asks for.`,
      html`In Claude Code instead, run this, and then <code>/mcp</code>: ${copyable('claude-code', `claude mcp add --transport http business ${address}`)}`,
    ],
  },
  {
    name: 'ChatGPT',
    documentHost: 'chatgpt.com',
    isHosted: true,
    clientIdSetting: 'Advanced settings of the app, as a user-defined OAuth client',
    steps: () => [
      html`On the web, open <strong>Settings</strong>, <strong>Apps</strong>, <strong>Advanced settings</strong>, and turn on <strong>Developer mode</strong>. In a workspace, an admin has to permit it.`,
      html`Click <strong>Create app</strong>. Enter a name, paste the address as the MCP server URL and choose <strong>OAuth</strong>.`,
      html`Click <strong>Create</strong>. Sign in here and allow what it asks for.`,
      html`In a chat, choose it under <strong>+</strong>.`,
    ],
  },
  {
    name: 'VS Code',
    documentHost: 'vscode.dev',
    isHosted: false,
    clientIdSetting: 'oauth.clientId of the server in mcp.json',
    steps: () => [
      html`Open the Command Palette and run <strong>MCP: Add Server</strong>. Choose <strong>HTTP</strong>.`,
      html`Paste the address and enter a name.`,
      html`VS Code opens this site. Sign in and allow what it asks for. The tools are then in the agent mode of the chat.`,
    ],
  },
  {
    name: 'Cursor',
    isHosted: false,
    clientIdSetting: 'auth.CLIENT_ID of the server in mcp.json',
    steps: (address) => [
      html`Open the file <code>~/.cursor/mcp.json</code>; the settings for MCP in Cursor open it, too.`,
      html`Add the server: ${copyable('cursor', JSON.stringify({ mcpServers: { business: { url: address } } }))}`,
      html`Back in the settings, click <strong>Sign in</strong>. Sign in here and allow what it asks for.`,
    ],
  },
];

/** Whether it has a metadata document or can register itself, so that no person has to register it. */
export function canConnectUnregistered(
  { documentHost }: Assistant,
  { documentHosts, externalClients }: WebDeps,
): boolean {
  if (externalClients.acceptsRegistrations) return true;
  if (documentHost === undefined) return false;
  return documentHosts === 'any' || documentHosts.includes(documentHost);
}

/** False for a server that only programs on the same computer can reach. */
export function canReach({ isHosted }: Assistant, { issuer }: WebDeps): boolean {
  return !isHosted || !isLoopbackHost(new URL(issuer).hostname);
}
