import { Injectable } from '@nestjs/common';
import { OPEN_RUN_STATUS_LIST } from '../../../core/run-status.js';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';

/** The runs of the whole service that are not over. */
export interface OpenRunCounts {
  /** They wait for a worker. */
  queued: number;
  /** They wait for an earlier run of their thread. */
  blocked: number;
  running: number;
  /** They wait for approvals, without a worker. */
  waiting: number;
  /** How long the run that has waited longest for a worker has waited, in seconds. */
  oldestAge: number;
}

const COUNT = {
  name: 'run_open_counts',
  text: `
    SELECT (count(*) FILTER (WHERE status = 'queued' AND turn_at IS NOT NULL))::integer AS queued,
           (count(*) FILTER (WHERE status = 'queued' AND turn_at IS NULL))::integer AS blocked,
           (count(*) FILTER (WHERE status = 'running'))::integer AS running,
           (count(*) FILTER (WHERE status = 'waiting'))::integer AS waiting,
           coalesce(extract(epoch FROM now() - min(turn_at) FILTER (WHERE status = 'queued')), 0)::float8 AS "oldestAge"
      FROM runs WHERE status IN (${OPEN_RUN_STATUS_LIST})`,
};

/** Counts open runs, of all organizations. */
@Injectable()
export class OpenRuns {
  constructor(private readonly statements: PreparedStatements) {}

  async count(): Promise<OpenRunCounts> {
    const [counts] = await this.statements.rows<OpenRunCounts>(COUNT, []);
    if (counts === undefined) throw new Error('An aggregate without GROUP BY has one row.');
    return counts;
  }
}
