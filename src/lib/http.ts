/** What `import` makes of `node:http` has everything in it, and loads WebSocket for it: as much again as all the rest. */
export const { createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http');
