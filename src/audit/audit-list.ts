import type { ListSpec } from '../common/paging/list-spec.js';
import { ENTRY_POINTS, AUDIT_STATUSES } from './audit-record.js';

/** What MONITORING_LOGS_LIST publishes. */
export const AUDIT_LIST = {
  name: 'monitoring_logs',
  fields: {
    id: { column: 'record.id', type: 'uuid' },
    at: { column: 'record.at', type: 'date' },
    door: { column: 'record.door', type: 'enum', values: ENTRY_POINTS },
    connection_id: { column: 'record.connectionId', type: 'uuid', nullable: true },
    agent_id: { column: 'record.agentId', type: 'uuid', nullable: true },
    tool_name: { column: 'record.toolName', type: 'string' },
    status: { column: 'record.status', type: 'enum', values: AUDIT_STATUSES },
    error_code: { column: 'record.errorCode', type: 'string', nullable: true },
    duration_ms: { column: 'record.durationMs', type: 'number' },
    user_id: { column: 'record.userId', type: 'uuid', nullable: true },
    api_key_id: { column: 'record.apiKeyId', type: 'uuid', nullable: true },
    run_id: { column: 'record.runId', type: 'uuid', nullable: true },
    request_id: { column: 'record.requestId', type: 'string' },
    public: { column: 'record.public', type: 'boolean' },
  },
  defaultOrder: [{ field: 'at', direction: 'desc' }],
  rowBytes: '1024 + json_octets(record.arguments) + json_octets(record.result)',
  tieBreaker: 'id',
} as const satisfies ListSpec;
