import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import { AUDIT_EVENT_NAMES } from './audit-event.js';
import { AuditEventPage } from './audit-event.dto.js';
import { AuditEventReader } from './audit-event-reader.js';

@Injectable()
export class AuditEventTools {
  constructor(private readonly events: AuditEventReader) {}

  @ManagementTool({
    name: 'AUDIT_EVENTS_LIST',
    description:
      "Lists the organization's events, newest first: sign-ins, and changes of members, roles, settings, API keys, " +
      'grants, clients, authorizations and AI providers, answers to approvals, and messages that steer runs ' +
      `(${AUDIT_EVENT_NAMES.join(', ')}). You can filter by id, at, event, user_id, api_key_id, client_id, source, ` +
      'target_type, target_id and target_name, and order by id, at and event.',
    input: ListInput,
    output: AuditEventPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<AuditEventPage> {
    return this.events.list(input, caller, answer);
  }
}
