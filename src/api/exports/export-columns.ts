import type { AuditEventItem } from '../../audit/events/audit-event.dto.js';
import type { MonitoringLogItem } from '../../audit/calls/monitoring.dto.js';

/** The columns of a CSV file, by name, each with its value in an item. */
type Columns<T> = Readonly<Record<string, (item: T) => unknown>>;

export const CALL_COLUMNS: Columns<MonitoringLogItem> = {
  id: (call) => call.id,
  at: (call) => call.at,
  door: (call) => call.door,
  connection_id: (call) => call.connection_id,
  connection_title: (call) => call.connection_title,
  agent_id: (call) => call.agent_id,
  tool_name: (call) => call.tool_name,
  status: (call) => call.status,
  error_code: (call) => call.error_code,
  duration_ms: (call) => call.duration_ms,
  user_id: (call) => call.user_id,
  user_email: (call) => call.user_email,
  api_key_id: (call) => call.api_key_id,
  key_name: (call) => call.key_name,
  run_id: (call) => call.run_id,
  request_id: (call) => call.request_id,
  public: (call) => call.public,
  arguments: (call) => call.arguments,
  result: (call) => call.result,
};

export const EVENT_COLUMNS: Columns<AuditEventItem> = {
  id: (event) => event.id,
  at: (event) => event.at,
  event: (event) => event.event,
  user_id: ({ actor }) => actor.user_id,
  user_email: ({ actor }) => actor.user_email,
  api_key_id: ({ actor }) => actor.api_key_id,
  key_name: ({ actor }) => actor.key_name,
  client_id: ({ actor }) => actor.client_id,
  source: (event) => event.source,
  target_type: ({ target }) => target?.type,
  target_id: ({ target }) => target?.id,
  target_name: ({ target }) => target?.name,
  changes: (event) => event.changes,
};
