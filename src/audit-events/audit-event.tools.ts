import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../common/answers/answer-budget.js';
import { ListInput } from '../common/paging/list-input.js';
import type { ListSpec } from '../common/paging/list-spec.js';
import { paginate } from '../common/paging/paginate.js';
import type { Principal } from '../common/principal.js';
import { ManagementTool, READ_ONLY } from '../common/tools/management-tool.js';
import { type NameOf, Names } from '../names/names.js';
import { AUDIT_EVENT_NAMES, EVENT_TARGET_TYPES } from './audit-event.js';
import { type AuditEventItem, AuditEventPage } from './audit-event.dto.js';
import type { AuditEventEntity } from './audit-event.entity.js';
import { AuditEventRepository } from './audit-event.repository.js';

const EVENT_LIST: ListSpec = {
  name: 'audit_events',
  fields: {
    id: { column: 'event.id', type: 'uuid' },
    at: { column: 'event.at', type: 'date' },
    event: { column: 'event.event', type: 'string' },
    user_id: { column: 'event.userId', type: 'uuid', nullable: true },
    api_key_id: { column: 'event.apiKeyId', type: 'uuid', nullable: true },
    client_id: { column: 'event.clientId', type: 'string', nullable: true },
    source: { column: 'event.source', type: 'string', nullable: true },
    target_type: { column: 'event.targetType', type: 'enum', values: EVENT_TARGET_TYPES, nullable: true },
    target_id: { column: 'event.targetId', type: 'string', nullable: true },
    target_name: { column: 'event.targetName', type: 'string', nullable: true },
  },
  defaultOrder: [{ field: 'at', direction: 'desc' }],
  rowBytes: '1024 + json_octets(event.changes)',
  tieBreaker: 'id',
};

@Injectable()
export class AuditEventTools {
  constructor(
    private readonly repository: AuditEventRepository,
    private readonly names: Names,
  ) {}

  @ManagementTool({
    name: 'AUDIT_EVENTS_LIST',
    description:
      "Lists the organization's events, newest first: sign-ins, and changes of members, roles, settings, API keys, grants, " +
      `clients, authorizations and AI providers, and answers to approvals (${AUDIT_EVENT_NAMES.join(', ')}). You can filter by id, at, event, user_id, ` +
      'api_key_id, client_id, source, target_type, target_id and target_name, and order by id, at and event.',
    input: ListInput,
    output: AuditEventPage,
    annotations: READ_ONLY,
  })
  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<AuditEventPage> {
    const query = this.repository.queryOfOrganization(caller.organization.id);
    const { items, ...page } = await paginate(query, EVENT_LIST, input, answer);
    const nameOf = await this.names.find(items.flatMap(({ userId, apiKeyId }) => [userId, apiKeyId]));
    return { ...page, items: items.map((event) => toItem(event, nameOf)) };
  }
}

function toItem(event: AuditEventEntity, nameOf: NameOf): AuditEventItem {
  const { targetType: type, targetId: id, targetName: name } = event;
  return {
    id: event.id,
    at: event.at.toISOString(),
    event: event.event,
    actor: {
      user_id: event.userId,
      user_email: nameOf(event.userId),
      api_key_id: event.apiKeyId,
      key_name: nameOf(event.apiKeyId),
      client_id: event.clientId,
    },
    source: event.source,
    target: type === null ? null : { type, id, name },
    changes: event.changes,
  };
}
