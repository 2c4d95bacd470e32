import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository, type SelectQueryBuilder } from 'typeorm';
import type { OrganizationLimits } from '../../core/limits.js';
import type { RunAccess } from '../../core/principal.js';
import { changeOrganization, requireRoom } from '../../platform/database/organization-locks.js';
import { hasLostCredential } from '../../runtime/runs/records/lost-credential.js';
import { ScheduleEntity } from './schedule.entity.js';

const MAX_SCHEDULES = { max: 1000, what: 'schedules' };

/** SQL: why a row of `schedules` can post no run any more; null if it can. */
const LOSS = `CASE
  WHEN ${hasLostCredential('schedules')} THEN 'The credential of its creator is gone.'
  WHEN NOT EXISTS (SELECT FROM connections agent
                    WHERE agent.id = schedules.virtual_mcp_id AND agent.organization_id = schedules.organization_id)
    THEN 'The agent was deleted.'
  WHEN thread_id IS NOT NULL AND NOT EXISTS (
      SELECT FROM threads WHERE threads.organization_id = schedules.organization_id
        AND threads.id = schedules.thread_id)
    THEN 'The thread was deleted.' END`;

/** Before every id that a schedule has. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const DISABLE_LOST = `
  WITH looked_at AS MATERIALIZED (
    SELECT * FROM schedules WHERE id > $1 ORDER BY id LIMIT $2
  ), lost AS (
    SELECT id, updated_at, ${LOSS} AS reason FROM looked_at AS schedules WHERE enabled
  ), disabled AS (
    UPDATE schedules SET enabled = false, next_run_at = NULL, disabled_reason = lost.reason, updated_at = now()
      FROM lost
     WHERE lost.id = schedules.id AND lost.updated_at = schedules.updated_at AND lost.reason IS NOT NULL
  )
  SELECT array_agg(id ORDER BY id) AS ids FROM looked_at`;

/** What decides about a run of a schedule beyond its own row. */
export interface ScheduleSituation {
  /** Why it can post no run any more; null if it can. */
  readonly loss: string | null;
  readonly runAccess: RunAccess;
  readonly limits: OrganizationLimits;
}

/** The run that a schedule has posted. */
export interface ScheduledRun {
  readonly runId: string;
  readonly threadId: string;
  /** Whether it can start now. */
  readonly isHead: boolean;
}

type Post = (manager: EntityManager) => Promise<ScheduledRun>;

/** The statements on schedules. */
@Injectable()
export class ScheduleRepository {
  constructor(@InjectRepository(ScheduleEntity) private readonly schedules: Repository<ScheduleEntity>) {}

  /** @throws DomainError `limit_reached` */
  insert(schedule: Partial<ScheduleEntity> & Pick<ScheduleEntity, 'id' | 'organizationId'>): Promise<ScheduleEntity> {
    return changeOrganization(this.schedules.manager, schedule.organizationId, async (manager) => {
      await requireRoom(manager, ScheduleEntity, schedule.organizationId, MAX_SCHEDULES);
      await manager.insert(ScheduleEntity, schedule);
      return manager.findOneByOrFail(ScheduleEntity, { id: schedule.id });
    });
  }

  /** For `paginate`; the alias is `schedule`. */
  queryOfOrganization(organizationId: string): SelectQueryBuilder<ScheduleEntity> {
    return this.schedules
      .createQueryBuilder('schedule')
      .where('schedule.organizationId = :organizationId', { organizationId });
  }

  find(organizationId: string, id: string): Promise<ScheduleEntity | null> {
    return this.schedules.findOneBy({ organizationId, id });
  }

  /** Changes the schedule. False if it was deleted, or changed by another caller since it was read. */
  async update({ id, updatedAt }: ScheduleEntity, columns: Partial<ScheduleEntity>): Promise<boolean> {
    const { affected } = await this.schedules.update({ id, updatedAt }, columns);
    return affected === 1;
  }

  async delete(organizationId: string, id: string): Promise<void> {
    await this.schedules.delete({ organizationId, id });
  }

  /** Undefined if the schedule was deleted. */
  async findSituation(id: string): Promise<ScheduleSituation | undefined> {
    const [row]: ScheduleSituation[] = await this.schedules.query(
      `SELECT ${LOSS} AS loss, organizations.run_access AS "runAccess", organizations.limits
         FROM schedules JOIN organizations ON organizations.id = schedules.organization_id WHERE schedules.id = $1`,
      [id],
    );
    return row;
  }

  /**
   * Looks at the next schedules of all organizations by id, and disables those that can post no run any more.
   * @param after the id after which it begins; undefined for the first schedule
   * @param limit how many it looks at
   * @returns the id after which to go on; undefined once all were looked at
   */
  async disableLostAfter(after: string | undefined, limit: number): Promise<string | undefined> {
    const [row]: { ids: string[] | null }[] = await this.schedules.query(DISABLE_LOST, [after ?? FIRST_ID, limit]);
    const ids = row?.ids ?? [];
    return ids.length < limit ? undefined : ids.at(-1);
  }

  /** Disables the schedules that act for a person, whose account has another owner now. */
  async disableOfPerson(manager: EntityManager, userId: string): Promise<void> {
    await manager.update(
      ScheduleEntity,
      { userId, enabled: true },
      { enabled: false, nextRunAt: null, disabledReason: 'The account of its creator has another owner.' },
    );
  }

  /** Schedules whose time has come: the earliest of each organization first, then the second of each, and so on. */
  findDue(limit: number): Promise<ScheduleEntity[]> {
    return this.schedules
      .createQueryBuilder('schedule')
      .addSelect('row_number() OVER (PARTITION BY schedule.organization_id ORDER BY schedule.next_run_at)', 'place')
      .where('schedule.enabled AND schedule.next_run_at <= now()')
      .orderBy('place')
      .addOrderBy('schedule.nextRunAt')
      .limit(limit)
      .getMany();
  }

  /**
   * Posts the run of a due time and sets the next one, in one transaction. Undefined if another process has done it, a
   * run was posted apart from the times, or the schedule was changed meanwhile. If `post` rejects, nothing changes.
   */
  fire(due: ScheduleEntity, next: Date, post: Post): Promise<ScheduledRun | undefined> {
    return this.schedules.manager.transaction(async (manager) => {
      const [claimed]: unknown[] = await manager.query(
        `SELECT 1 FROM schedules WHERE id = $1 AND enabled AND next_run_at = $2 AND updated_at = $3
           AND last_run_id IS NOT DISTINCT FROM $4 FOR NO KEY UPDATE SKIP LOCKED`,
        [due.id, due.nextRunAt, due.updatedAt, due.lastRunId],
      );
      return claimed === undefined ? undefined : this.record(manager, due.id, next, post);
    });
  }

  /** Posts a run now, apart from the times. Undefined if the schedule was deleted or changed meanwhile. */
  postNow(schedule: ScheduleEntity, post: Post): Promise<ScheduledRun | undefined> {
    return this.schedules.manager.transaction(async (manager) => {
      const [found]: unknown[] = await manager.query(
        'SELECT 1 FROM schedules WHERE id = $1 AND updated_at = $2 FOR NO KEY UPDATE',
        [schedule.id, schedule.updatedAt],
      );
      return found === undefined ? undefined : this.record(manager, schedule.id, undefined, post);
    });
  }

  /** Passes over a due time, unless another process has handled it or the schedule was changed meanwhile. */
  async skip({ id, nextRunAt, updatedAt }: ScheduleEntity, next: Date, reason: string): Promise<void> {
    await this.schedules.query(
      `UPDATE schedules SET next_run_at = $4, last_skipped_at = next_run_at, last_skip_reason = $5, updated_at = now()
        WHERE id = $1 AND enabled AND next_run_at = $2 AND updated_at = $3`,
      [id, nextRunAt, updatedAt, next, reason],
    );
  }

  /**
   * Disables a schedule at its due time, unless another process has handled it or the schedule was changed meanwhile.
   */
  async disable({ id, nextRunAt, updatedAt }: ScheduleEntity, reason: string): Promise<void> {
    await this.schedules.query(
      `UPDATE schedules SET enabled = false, next_run_at = NULL, disabled_reason = $4, updated_at = now()
        WHERE id = $1 AND enabled AND next_run_at = $2 AND updated_at = $3`,
      [id, nextRunAt, updatedAt, reason],
    );
  }

  private async record(manager: EntityManager, id: string, next: Date | undefined, post: Post): Promise<ScheduledRun> {
    const run = await post(manager);
    await manager.query(
      `UPDATE schedules SET last_run_at = now(), last_run_id = $2, next_run_at = coalesce($3, next_run_at)
         WHERE id = $1`,
      [id, run.runId, next ?? null],
    );
    return run;
  }
}
