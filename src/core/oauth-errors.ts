/** The error codes with which an authorization server refuses every request for now, regardless of the user. */
export const ERRORS_OF_SERVERS: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'too_many_requests',
  'slow_down',
]);
