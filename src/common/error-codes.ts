/**
 * Every error code of the service with its HTTP status and title: the one table that the problem-details filter, the
 * JSON-RPC filter and `docs/errors.md` read. A code, once published, keeps its meaning.
 */
export const ERROR_CODES = {
  // 400: the request itself is at fault.
  invalid_request: [400, 'The request is not valid'],
  malformed_json: [400, 'The body is not valid JSON'],
  unknown_property: [400, 'The body holds a property that is not accepted'],
  thread_id_in_body: [400, 'The thread id lives in the URL and must not be sent in the body'],
  user_message_count: [400, 'Exactly one user message is accepted per call'],
  role_not_allowed: [400, 'Messages of this role are not accepted'],
  part_type_not_supported: [400, 'Only text parts are accepted'],
  temperature_out_of_range: [400, 'The temperature is out of range'],
  unknown_tier: [400, 'The tier is not known'],
  agent_mismatch: [400, 'The agent is not the agent of the thread'],
  invalid_stream_position: [400, 'The Last-Event-ID or taskId is malformed'],
  invalid_cursor: [400, 'The cursor is not one that this list returned'],
  invalid_rpc_request: [400, 'The body is not a JSON-RPC 2.0 message of MCP'],
  header_mismatch: [400, 'A header contradicts the body'],
  invalid_arguments: [400, "The arguments do not fit the tool's input schema"],
  address_refused: [400, 'The address may not be reached from this service'],
  // 401 and 403: who is asking.
  credential_missing: [401, 'No credential was presented'],
  credential_invalid: [401, 'The credential is not valid'],
  credential_expired: [401, 'The credential has expired'],
  organization_mismatch: [403, 'The credential does not belong to this organization'],
  permission_denied: [403, 'The caller lacks the permission'],
  origin_refused: [403, 'The origin of the request is not allowed'],
  permission_widening: [403, 'Nobody can grant more than they hold'],
  // 404, 409, 410: what is asked for.
  not_found: [404, 'Not found'],
  unknown_route: [404, 'No such route'],
  unknown_tool: [404, 'No such tool'],
  unknown_method: [404, 'No such method'],
  session_not_found: [404, 'No such session'],
  thread_not_found: [404, 'No such thread'],
  agent_not_found: [404, 'No such agent'],
  run_not_found: [404, 'No such run'],
  method_not_allowed: [405, 'The method is not allowed here'],
  thread_exists: [409, 'A thread with this id belongs to another agent'],
  idempotency_conflict: [409, 'The Idempotency-Key was used with another body'],
  conflict: [409, 'The request conflicts with the present state'],
  agent_cycle: [409, 'An agent cannot contain itself'],
  stream_expired: [410, 'The live stream of this run has expired; read the transcript'],
  body_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'The content type is not supported'],
  too_many_runs: [429, 'Too many runs are waiting on this thread'],
  // 5xx: our side, or the upstream's.
  internal: [500, 'An unexpected error occurred'],
  upstream_protocol: [500, 'The upstream answered with something that is not MCP'],
  tool_schema_invalid: [500, 'The input schema of the tool cannot be used'],
  upstream_timeout: [504, 'The upstream did not answer in time'],
  upstream_unreachable: [503, 'The upstream cannot be reached'],
  upstream_unauthorized: [503, 'The upstream does not accept the stored credential'],
  upstream_busy: [503, 'No more upstream processes can be started right now'],
  connection_unavailable: [503, 'The connection is not available'],
  storage_unavailable: [503, 'A part of the service is not available right now'],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type ErrorCode = keyof typeof ERROR_CODES;
