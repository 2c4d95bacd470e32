import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository, type SelectQueryBuilder } from 'typeorm';
import { AppConfig } from '../../core/config/app-config.js';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { deleteBefore } from '../delete-before.js';
import { AuditEventEntity } from './audit-event.entity.js';

@Injectable()
export class AuditEventRepository {
  constructor(
    @InjectRepository(AuditEventEntity) private readonly events: Repository<AuditEventEntity>,
    private readonly config: AppConfig,
  ) {}

  /** @param manager of the transaction to which the events belong; without it they have one of their own */
  async insert(events: AuditEventEntity[], manager: EntityManager = this.events.manager): Promise<void> {
    if (events.length > 0) await manager.insert(AuditEventEntity, events);
  }

  /** For `paginate`; the alias is `event`. */
  queryOfOrganization(organizationId: string, manager: EntityManager): SelectQueryBuilder<AuditEventEntity> {
    return manager
      .createQueryBuilder(AuditEventEntity, 'event')
      .where('event.organizationId = :organizationId', { organizationId });
  }

  /** The organizations of which this person is a member. */
  async findOrganizationsOf(userId: string, manager: EntityManager = this.events.manager): Promise<string[]> {
    const rows: { id: string }[] = await manager.query(
      'SELECT organization_id AS id FROM members WHERE user_id = $1 ORDER BY organization_id',
      [userId],
    );
    return rows.map(({ id }) => id);
  }

  /** The person with this e-mail address, whatever its case. */
  async findPerson(email: string): Promise<{ id: string; email: string } | undefined> {
    const [person]: { id: string; email: string }[] = await this.events.query(
      'SELECT id, email FROM users WHERE lower(email) = lower($1)',
      [email],
    );
    return person;
  }

  /** Deletes up to 1,000 events that are older than `AUDIT_RETENTION_DAYS`. */
  @DeletesExpired('audit events')
  deleteExpired(now: Date): Promise<number> {
    return deleteBefore(this.events, 'audit_events', this.config.auditedSince(now));
  }
}
