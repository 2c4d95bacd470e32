import { Link } from '@tanstack/react-router';
import { type Filters, useFilters } from '../../api/filters.js';
import { allOf, type Condition, useList, useTool } from '../../api/queries.js';
import { isUuid } from '../../api/uuid.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { chipsOf, FilterChips, metadataChips, timeChips } from '../../records/filter-chips.js';
import { equals, orderOf, SHARED_WORDS, sharedCondition } from '../../records/found-filters.js';
import { FoundOverTime } from '../../records/found-over-time.js';
import { useFoundRange } from '../../records/found-range.js';
import { runColumns } from '../../records/run-columns.js';
import { SavedViews } from '../../records/saved-views.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { EmptyState } from '../../ui/states.js';
import { QuickFilters, RunFilters } from './run-filters.js';

const REFRESH_MS = 60_000;

/** All runs of the organization: newest first, or in another order, and those that filters find. */
export function RunsView() {
  const { slug, may } = useOrganization();
  const [filters, filter] = useFilters();
  const range = useFoundRange(filters);
  const where = allOf(...conditionsOf(filters), sharedCondition(filters));
  const list = useList('RUN_LIST', { where: allOf(where, range.condition), orderBy: orderOf(filters) });
  const { data: stats } = useTool(
    'RUN_STATS',
    { from: range.from, ...(range.to && { to: range.to }), ...(where && { where }) },
    { isEnabled: may('RUN_STATS'), refreshMs: REFRESH_MS },
  );
  const titleOf = useAgentTitles(list.rows.map((run) => run.agent_id));
  const { sort: _, ...conditions } = filters;
  const isFiltered = Object.values(conditions).some(Boolean);
  return (
    <Page
      title="Runs"
      description="A run is one answer of an agent: its model calls and tool calls, and what came of them."
    >
      <div className="flex flex-wrap gap-2">
        <QuickFilters filters={filters} onFilter={filter} />
        <SavedViews list="runs" filters={filters} onFilter={filter} />
      </div>
      <RunFilters filters={filters} onFilter={filter} />
      <FilterChips
        chips={[
          ...timeChips(filters),
          ...chipsOf(filters, { ...SHARED_WORDS, schedule: 'Schedule', id: 'ID' }),
          ...(filters['attempts'] === 'several' ? [{ words: 'More than one attempt', names: ['attempts'] }] : []),
          ...metadataChips(filters),
        ]}
        onFilter={filter}
      />
      {stats && stats.total.runs > 0 && (
        <FoundOverTime
          what="runs"
          isAnyTime={range.isAny}
          filters={filters}
          onFilter={filter}
          counts={{
            ...stats,
            bars: stats.over_time.map(({ at, runs, failed }) => ({ at, count: runs, failed })),
            failures: stats.failures.map(({ code, runs }) => ({ code, count: runs })),
          }}
        />
      )}
      <ListView
        label="Runs"
        list={list}
        columns={runColumns({
          org: slug,
          titleOf,
          onCode: (code) => filter({ code }),
          onTool: (tool) => filter({ tool }),
        })}
        keyOf={(run) => run.id}
        empty={
          isFiltered ? (
            <EmptyState title="No run matches.">
              <Button variant="secondary" onClick={() => filter(cleared(filters))}>
                Clear filters
              </Button>
            </EmptyState>
          ) : (
            <EmptyState title="Nothing has run yet.">
              <Button asChild>
                <Link to="/$org/playground" params={{ org: slug }}>
                  Talk to an agent
                </Link>
              </Button>
            </EmptyState>
          )
        }
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

function cleared(filters: Filters): Filters {
  return Object.fromEntries(Object.keys(filters).map((name) => [name, undefined]));
}
