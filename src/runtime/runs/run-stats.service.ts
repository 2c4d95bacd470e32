import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { databaseDate } from '../../core/database-time.js';
import { readStatsRange, type TimeRange } from '../../core/paging/time-range.js';
import type { Principal } from '../../core/principal.js';
import { Names } from '../../core/names/names.js';
import type { RunCounts, RunStats, RunStatsInput } from './run-stats.dto.js';
import { requireReadableTexts } from '../threads/message-texts.js';
import { RUN_TEXTS } from './records/run-list.js';
import { type ApprovalPath, type CountedRuns, type CountedSet, RunStatsRepository } from './run-stats.repository.js';

const MAX_GROUPS = 50;

/** What the runs of an organization did over time. */
@Injectable()
export class RunStatsService {
  constructor(
    private readonly repository: RunStatsRepository,
    private readonly names: Names,
  ) {}

  /**
   * For whose runs of which agent approvals were asked, for calls of which connection: at most `max` ways.
   * @param range in which the runs were posted
   * @throws DomainError as `LongReads.read`
   */
  countApprovals(
    caller: Principal,
    range: TimeRange,
    max: number,
    { callerLeft }: HeldAnswer,
  ): Promise<ApprovalPath[]> {
    return this.repository.countApprovals(caller.organization.id, range, max, callerLeft);
  }

  /** @throws DomainError `invalid_request`, `permission_denied` for a search that needs to read messages */
  async stats(input: RunStatsInput, caller: Principal, { callerLeft }: HeldAnswer): Promise<RunStats> {
    requireReadableTexts(caller, input.where, RUN_TEXTS);
    const range = readStatsRange(input, databaseDate());
    const question = { ...range, organizationId: caller.organization.id, agentId: input.agent_id, where: input.where };
    const { sets, waitingApprovals } = await this.repository.count(question, callerLeft);
    const of = (kind: CountedSet['kind']): CountedSet[] => sets.filter((set) => set.kind === kind);
    const [total] = of('total');
    if (total === undefined) throw new Error('The grouping set without columns has one row.');
    const [agents, models] = [of('agent'), of('model')];
    const failures = of('failure').flatMap(({ code, runs }) => (code === null ? [] : [{ code, runs }]));
    const listed = agents.slice(0, MAX_GROUPS);
    const nameOf = await this.names.find(listed.map(({ agentId }) => agentId));
    return {
      from: range.from.toISOString(),
      to: range.to.toISOString(),
      bucket_seconds: range.bucketSeconds,
      total: toCounts(total),
      over_time: of('bucket').map((set) => ({ at: set.at?.toISOString() ?? '', ...toCounts(set) })),
      agents: listed.map((set) => ({
        agent_id: set.agentId ?? '',
        agent_title: nameOf(set.agentId),
        ...toCounts(set),
      })),
      models: models.slice(0, MAX_GROUPS).map((set) => ({ model: set.model, ...toCounts(set) })),
      failures: failures.slice(0, MAX_GROUPS),
      waiting_approvals: waitingApprovals,
      truncated: [agents, models, failures].some(({ length }) => length > MAX_GROUPS),
    };
  }
}

function toCounts(set: CountedRuns): RunCounts {
  const { runs, queued, running, waiting, completed, failed, cancelled, duration } = set;
  const { input_tokens, output_tokens, cost_usd, unpriced_runs } = set;
  return {
    runs,
    queued,
    running,
    waiting,
    completed,
    failed,
    cancelled,
    input_tokens,
    output_tokens,
    cost_usd,
    unpriced_runs,
    duration_ms: duration === null ? null : { p50: duration[0], p95: duration[1], p99: duration[2] },
  };
}
