// Commands read these without loading the server.
export const LIVENESS = '/healthz';
export const READINESS = '/readyz';
