import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import type { Principal } from '../../core/principal.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { type NameOf, Names } from '../../core/names/names.js';
import { EVENT_TARGET_TYPES } from './audit-event.js';
import type { AuditEventItem, AuditEventPage } from './audit-event.dto.js';
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

/** Reads an organization's events. */
@Injectable()
export class AuditEventReader {
  constructor(
    private readonly repository: AuditEventRepository,
    private readonly names: Names,
    private readonly reads: LongReads,
  ) {}

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<AuditEventPage> {
    const { id } = caller.organization;
    const queryOf = (manager: EntityManager) => this.repository.queryOfOrganization(id, manager);
    const { items, ...page } = await this.reads.page(id, queryOf, EVENT_LIST, input, answer);
    return { ...page, items: await this.toItems(items) };
  }

  /**
   * All events that `where` of AUDIT_EVENTS_LIST selects, newest first, in batches.
   * @throws DomainError `invalid_request`, before the first batch
   */
  scan(
    where: Readonly<Record<string, unknown>> | undefined,
    caller: Principal,
    callerLeft: AbortSignal,
  ): AsyncGenerator<AuditEventItem[]> {
    const { id } = caller.organization;
    const queryOf = (manager: EntityManager) => this.repository.queryOfOrganization(id, manager);
    return this.itemsOf(this.reads.scan(id, queryOf, EVENT_LIST, where, callerLeft));
  }

  private async *itemsOf(batches: AsyncGenerator<AuditEventEntity[]>): AsyncGenerator<AuditEventItem[]> {
    for await (const events of batches) yield await this.toItems(events);
  }

  private async toItems(events: readonly AuditEventEntity[]): Promise<AuditEventItem[]> {
    const nameOf = await this.names.find(events.flatMap(({ userId, apiKeyId }) => [userId, apiKeyId]));
    return events.map((event) => toItem(event, nameOf));
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
