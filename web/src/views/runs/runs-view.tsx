import { type Filters, useFilters } from '../../api/filters.js';
import { type Condition, equals } from '../../api/queries.js';
import { isUuid } from '../../api/uuid.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { FoundList, useFound } from '../../records/found-list.js';
import { runColumns } from '../../records/run-columns.js';
import { SavedViews } from '../../records/saved-views.js';
import { useOrganization } from '../../session/organization.js';
import { Page } from '../../ui/page.js';
import { QuickFilters, RunFilters } from './run-filters.js';

/** All runs of the organization: newest first, or in another order, and those that filters find. */
export function RunsView() {
  const { slug } = useOrganization();
  const [filters, filter] = useFilters();
  const { list, range, stats } = useFound('RUN_LIST', 'RUN_STATS', conditionsOf);
  const titleOf = useAgentTitles(list.rows.map((run) => run.agent_id));
  return (
    <Page
      title="Runs"
      description="A run is one answer of an agent: its model calls and tool calls, and what came of them."
    >
      <div className="flex flex-wrap gap-2">
        <QuickFilters />
        <SavedViews list="runs" filters={filters} onFilter={filter} />
      </div>
      <RunFilters />
      <FoundList
        what="runs"
        range={range}
        words={{ schedule: 'Schedule', id: 'ID' }}
        chips={filters['attempts'] === 'several' ? [{ words: 'More than one attempt', names: ['attempts'] }] : []}
        counts={
          stats && stats.total.runs > 0
            ? {
                ...stats,
                bars: stats.over_time.map(({ at, runs, failed }) => ({ at, count: runs, failed })),
                failures: stats.failures.map(({ code, runs }) => ({ code, count: runs })),
              }
            : undefined
        }
        list={list}
        columns={runColumns({
          org: slug,
          titleOf,
          onCode: (code) => filter({ code }),
          onTool: (tool) => filter({ tool }),
        })}
        emptyTitle="Nothing has run yet."
      />
    </Page>
  );
}

/** The conditions of the filters of runs; `id` finds a run, and the runs of a thread. */
function conditionsOf({ q, status, agent, id, schedule, attempts }: Filters): (Condition | undefined)[] {
  const thread = equals('thread_id', id?.trim());
  const run = isUuid(id?.trim()) ? equals('id', id?.trim()) : undefined;
  return [
    q?.trim() ? { field: ['question'], operator: 'matches', value: q } : undefined,
    status === 'open'
      ? { field: ['status'], operator: 'in', value: ['queued', 'running', 'waiting'] }
      : equals('status', status),
    equals('agent_id', agent),
    run && thread ? { operator: 'or', conditions: [run, thread] } : thread,
    equals('schedule_id', schedule),
    attempts === 'several' ? { field: ['attempt'], operator: 'gt', value: 1 } : undefined,
  ];
}
