import { Type } from 'typebox';
import { REASONS } from '../http/errors.ts';
import { COMMON_BODY_ERRORS, describeErrors, NO_STORE } from '../http/openapi.ts';

const CHALLENGE = { 'www-authenticate': Type.String({ description: 'RFC 6750 §3.', examples: ['Bearer'] }) };

const HEADERS = Type.Object({
  accept: Type.Optional(
    Type.String({ description: 'Lists both types.', examples: ['application/json, text/event-stream'] }),
  ),
  'mcp-protocol-version': Type.Optional(
    Type.String({ description: 'The revision of the protocol.', examples: ['2026-07-28'] }),
  ),
  'mcp-method': Type.Optional(Type.String({ description: 'The `method` of the body.', examples: ['tools/call'] })),
  'mcp-name': Type.Optional(
    Type.String({ description: 'The tool, if the body names one.', examples: ['list_invoices'] }),
  ),
});

const ID = Type.Union([Type.String(), Type.Integer()], {
  description: 'Chosen by the client; repeated in the response.',
});

const MESSAGE = Type.Object(
  {
    jsonrpc: Type.Literal('2.0', { description: 'JSON-RPC 2.0.' }),
    id: Type.Optional(ID),
    method: Type.String({ description: 'What to do.', examples: ['tools/call'] }),
    params: Type.Optional(
      Type.Unsafe({ type: 'object', description: 'Depends on the method.', additionalProperties: true }),
    ),
  },
  {
    additionalProperties: true,
    examples: [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'list_invoices',
          arguments: { limit: 2 },
          // The revision that the example of the header names requires them.
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'my-agent', version: '1.0.0' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
    ],
  },
);

/** A response, a stream of one, or an error of the protocol. */
const RESULT = Type.Unsafe({
  type: 'object',
  description: 'A JSON-RPC response.',
  additionalProperties: true,
});

const content = (example: object) => ({ 'application/json': { schema: RESULT, example } });
const EXAMPLE = {
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: '{"items":[]}' }], structuredContent: { items: [] } },
};
const errorExample = (code: number, message: string) => ({ jsonrpc: '2.0', id: 1, error: { code, message } });

/** The route in the OpenAPI document. The tools are in `tools/list`. */
export function describeMcp(path: string) {
  const ofBusiness = path.includes(':');
  return {
    operationId: ofBusiness ? 'mcpOfBusiness' : 'mcp',
    tags: ['MCP'],
    summary: ofBusiness ? 'Call a tool, in one business' : 'Call a tool',
    description:
      'The Model Context Protocol, for AI agents: every endpoint of the business API as a tool. The token names the business' +
      `${ofBusiness ? ', and it must be that of the path' : ''}. A token of the business API does not work here.`,
    security: [{ oauth2: [] }],
    headers: HEADERS,
    ...(ofBusiness && {
      params: Type.Object({ businessId: Type.String({ format: 'uuid', description: 'The business.' }) }),
    }),
    body: MESSAGE,
    consumes: ['application/json'],
    response: {
      200: { description: 'The result, or the error of a tool.', headers: NO_STORE, content: content(EXAMPLE) },
      202: { description: 'A notification was received.', type: 'null', headers: NO_STORE },
      400: {
        description: 'Not a valid message.',
        headers: NO_STORE,
        content: content(errorExample(-32600, 'Bad Request')),
      },
      401: describeErrors({ unauthorized: REASONS.unauthorized, invalid_token: REASONS.invalid_token }, CHALLENGE),
      403: describeErrors(
        { insufficient_scope: REASONS.insufficient_scope, invalid_request: ['origin_not_allowed'] },
        CHALLENGE,
      ),
      404: {
        description: 'No such method.',
        headers: NO_STORE,
        content: content(errorExample(-32601, 'Method not found')),
      },
      406: {
        description: 'Accept does not list both types.',
        headers: NO_STORE,
        content: content(errorExample(-32000, 'Not Acceptable')),
      },
      ...COMMON_BODY_ERRORS,
    },
  };
}
