import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { databaseDate } from '../../core/database-time.js';
import { contentJson } from '../calls/content-json.js';
import { withoutCredentials } from '../../core/credential-forms.js';
import { newId } from '../../core/ids.js';
import { LogContext } from '../../core/log-context.js';
import { type AuditEvent, NOBODY } from './audit-event.js';
import type { AuditEventEntity } from './audit-event.entity.js';
import { AuditEventRepository } from './audit-event.repository.js';

const MAX_NAME_LENGTH = 256;
const MAX_ID_LENGTH = 2048;
const MAX_SOURCE_LENGTH = 64;

/** Records what happens in organizations: sign-ins, changes of members, roles, keys, grants, providers. */
@Injectable()
export class AuditEvents {
  constructor(private readonly repository: AuditEventRepository) {}

  /**
   * Records an event of an organization.
   * @param manager of the transaction that makes the change, so that both are stored or neither is
   */
  record(organizationId: string, event: AuditEvent, manager?: EntityManager): Promise<void> {
    return this.repository.insert([toEntity(organizationId, event)], manager);
  }

  /** Records an event of a person, such as a sign-in, in every organization of which the person is a member. */
  async recordForMember(userId: string, event: AuditEvent, manager?: EntityManager): Promise<void> {
    const organizations = await this.repository.findOrganizationsOf(userId, manager);
    await this.repository.insert(
      organizations.map((id) => toEntity(id, event)),
      manager,
    );
  }

  /**
   * Records a failed sign-in in every organization of the person with this e-mail address, and nowhere for an unknown
   * address. Do not await it before the answer: the time would reveal which addresses are known.
   */
  async recordFailedSignIn(email: string): Promise<void> {
    const person = await this.repository.findPerson(email);
    if (person === undefined) return;
    const target = { type: 'user', id: person.id, name: person.email } as const;
    await this.recordForMember(person.id, { event: 'login.failed', actor: NOBODY, target });
  }
}

function toEntity(organizationId: string, { event, actor, target, changes, source }: AuditEvent): AuditEventEntity {
  return {
    organizationId,
    at: databaseDate(),
    id: newId(),
    event,
    userId: actor.userId,
    apiKeyId: actor.apiKeyId,
    clientId: text(actor.clientId, MAX_ID_LENGTH),
    source: text(source === undefined ? LogContext.source : source, MAX_SOURCE_LENGTH),
    targetType: target?.type ?? null,
    targetId: text(target?.id ?? null, MAX_ID_LENGTH),
    targetName: text(target?.name ?? null, MAX_NAME_LENGTH),
    changes: changes === undefined ? null : (JSON.parse(contentJson(changes, { listsNames: true })) as object),
  };
}

/** Removes what PostgreSQL rejects and credentials of the service, then cuts. */
function text(value: string | null, maxLength: number): string | null {
  if (value === null) return null;
  return withoutCredentials(value).replaceAll('\0', '').slice(0, maxLength).toWellFormed();
}
