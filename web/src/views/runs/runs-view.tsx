import { Link } from '@tanstack/react-router';
import { allOf, type Condition, useList } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { runColumns } from '../../records/run-columns.js';
import { useTimeFilter } from '../../records/time-filter.js';
import { type Filters, useFilters } from '../../api/filters.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { EmptyState } from '../../ui/states.js';
import { QuickFilters, RunFilters } from './run-filters.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** All runs of the organization, newest first. */
export function RunsView() {
  const { slug } = useOrganization();
  const [filters, filter] = useFilters();
  const since = useTimeFilter('created_at', filters['since'] ?? '');
  const list = useList('RUN_LIST', {
    where: allOf(...conditionsOf(filters), since),
    orderBy: [{ field: ['created_at'], direction: 'desc' }],
  });
  const titleOf = useAgentTitles(list.rows.map((run) => run.agent_id));
  const isFiltered = Object.values(filters).some(Boolean);
  return (
    <Page
      title="Runs"
      description="A run is one answer of an agent: its model calls and tool calls, and what came of them."
    >
      <QuickFilters filters={filters} onFilter={filter} />
      <RunFilters filters={filters} onFilter={filter} />
      <ListView
        label="Runs"
        list={list}
        columns={runColumns({ org: slug, titleOf, onCode: (code) => filter({ code }) })}
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

/** The conditions of the filters; `id` finds a run, and the runs of a thread. */
function conditionsOf({ status, agent, id, schedule, attempts, code }: Filters): (Condition | undefined)[] {
  const equals = (field: string, value: string | undefined): Condition | undefined =>
    value ? { field: [field], operator: 'eq', value } : undefined;
  const thread = equals('thread_id', id?.trim());
  const run = id && UUID.test(id.trim()) ? equals('id', id.trim()) : undefined;
  return [
    status === 'open'
      ? { field: ['status'], operator: 'in', value: ['queued', 'running', 'waiting'] }
      : equals('status', status),
    equals('agent_id', agent),
    run && thread ? { operator: 'or', conditions: [run, thread] } : thread,
    equals('schedule_id', schedule),
    equals('error_code', code),
    attempts === 'several' ? { field: ['attempt'], operator: 'gt', value: 1 } : undefined,
  ];
}

function cleared(filters: Filters): Filters {
  return Object.fromEntries(Object.keys(filters).map((name) => [name, undefined]));
}
