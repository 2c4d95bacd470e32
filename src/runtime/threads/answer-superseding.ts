import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import { OPEN_RUN_STATUS_LIST } from '../../core/run-status.js';

// Under the lock of the thread, so that no run is posted meanwhile. A statement sees what was committed before it
// began.
const LOCK = 'SELECT FROM threads WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE';
const OWN = `
  SELECT FROM messages
   WHERE organization_id = $1 AND thread_id = $2 AND run_position IN ($3, $4) AND superseded_by IS NULL LIMIT 1`;
// An open run that answers the question again may have no message yet, and one that has failed has none.
const LATER = `
  (SELECT 1 FROM messages
    WHERE organization_id = $1 AND thread_id = $2 AND run_position > $3 AND superseded_by IS NULL LIMIT 1)
  UNION ALL
  (SELECT 1 FROM runs
    WHERE organization_id = $1 AND thread_id = $2
      AND (status IN (${OPEN_RUN_STATUS_LIST}) OR position > $3 AND question_position = $4) LIMIT 1)`;
const SUPERSEDE = `
  UPDATE messages SET superseded_by = $4, updated_at = now()
   WHERE organization_id = $1 AND thread_id = $2 AND run_position IN ($3, $5) AND superseded_by IS NULL`;

/** The run whose answer is taken out of its thread. */
interface AnsweringRun {
  readonly id: string;
  readonly organizationId: string;
  readonly threadId: string;
  readonly position: number;
  readonly questionPosition: number | null;
}

/** Takes the last answer out of a thread, together with its question. */
@Injectable()
export class AnswerSuperseding {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /**
   * Supersedes the messages of the run, which is over, by the run itself: they are kept, and belong to the history no
   * more.
   * @throws DomainError `run_not_found` if it was superseded before; `conflict` if the thread has gone on after it, if
   *   another run has answered its question again, or if a run is open
   */
  async supersede({ id, organizationId, threadId, position, questionPosition }: AnsweringRun): Promise<void> {
    await this.database.transaction(async (manager) => {
      await manager.query(LOCK, [organizationId, threadId]);
      const own: unknown[] = await manager.query(OWN, [
        organizationId,
        threadId,
        position,
        questionPosition ?? position,
      ]);
      if (own.length === 0) throw new DomainError('run_not_found', 'The answer was taken out of its thread before.');
      const later: unknown[] = await manager.query(LATER, [
        organizationId,
        threadId,
        position,
        questionPosition ?? position,
      ]);
      if (later.length > 0) throw new DomainError('conflict', 'The thread has gone on after this answer.');
      await manager.query(SUPERSEDE, [organizationId, threadId, position, id, questionPosition ?? position]);
    });
  }
}
