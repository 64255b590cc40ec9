/** `import` reads every export of `node:http`, and one of them, WebSocket, takes longer to load than all the rest. */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http');
