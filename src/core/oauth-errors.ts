/** The error codes with which an authorization server refuses everybody for now, whoever the request is for. */
export const ERRORS_OF_SERVERS: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'too_many_requests',
  'slow_down',
]);
