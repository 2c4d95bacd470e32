import { Link, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { allOf, type Condition, useList } from '../../api/queries.js';
import { useCallColumns } from '../../records/call-columns.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { SelectField } from '../../ui/field.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { SearchField } from '../../ui/search-field.js';
import { EmptyState } from '../../ui/states.js';
import { Time } from '../../ui/time.js';

type Agent = ListItem<'COLLECTION_VIRTUAL_MCP_LIST'>;

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'active', label: 'Active' },
  { value: 'error', label: 'Error' },
  { value: 'inactive', label: 'Inactive' },
] as const;

/** The agents of the organization. */
export function AgentsView() {
  const { org } = useParams({ from: '/$org' });
  const { may } = useOrganization();
  const [{ q = '', status = '' }, filter] = useFilters();
  const search = useCallback((text: string) => filter({ q: text }), [filter]);
  const list = useList('COLLECTION_VIRTUAL_MCP_LIST', {
    where: allOf(contains(q), status === '' ? undefined : { field: ['status'], operator: 'eq', value: status }),
    orderBy: [{ field: ['title'], direction: 'asc' }],
  });
  const calls = useCallColumns('agent', list.rows);
  const mayCreate = may('COLLECTION_VIRTUAL_MCP_CREATE');
  const columns: readonly Column<Agent>[] = [
    {
      header: 'Title',
      cell: ({ id, title, description }) => (
        <div className="min-w-0">
          <Link
            to="/$org/agents/$agentId"
            params={{ org, agentId: id }}
            className="font-medium break-words text-primary hover:underline"
          >
            {title}
          </Link>
          {description && <p className="line-clamp-1 break-words text-muted-foreground">{description}</p>}
        </div>
      ),
    },
    { header: 'Status', cell: (agent) => <StatusBadge status={agent.status} /> },
    { header: 'Tools', isSecondary: true, align: 'right', cell: ({ tool_count: count }) => count },
    { header: 'Tier', isSecondary: true, cell: ({ tier }) => tier ?? 'default' },
    { header: 'Changed', isSecondary: true, cell: (agent) => <Time value={agent.updated_at} /> },
    ...calls,
    {
      header: 'Use',
      isSecondary: true,
      cell: ({ id, title }) => (
        <Link
          to="/$org/playground"
          params={{ org }}
          search={{ agent: id }}
          className="whitespace-nowrap text-primary hover:underline"
          aria-label={`Open ${title} in the playground`}
        >
          Playground
        </Link>
      ),
    },
  ];
  return (
    <Page
      title="Agents"
      description="An agent is instructions for a model, and a selection of tools. It answers in threads, and offers its tools to MCP clients at one address."
      actions={mayCreate && <CreateLink label="Create agent" />}
    >
      <div className="flex flex-wrap items-end gap-3">
        <SearchField label="Search by title or description" value={q} onSearch={search} />
        <SelectField
          label="Status"
          isLabelHidden
          value={status}
          options={STATUSES}
          onChange={(value) => filter({ status: value })}
        />
      </div>
      <ListView
        label="Agents"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          q || status ? (
            <EmptyState title="No agent matches.">
              <Button variant="secondary" onClick={() => filter({ q: '', status: '' })}>
                Clear the filters
              </Button>
            </EmptyState>
          ) : (
            <EmptyState title="There are no agents yet.">
              <p className="max-w-prose text-sm text-muted-foreground">
                {mayCreate
                  ? 'Give one a title, instructions and the tools that it can use. Then talk to it in the playground.'
                  : 'Somebody with the permission to create agents can add the first.'}
              </p>
              {mayCreate && <CreateLink label="Create the first agent" />}
            </EmptyState>
          )
        }
      />
    </Page>
  );
}

function CreateLink({ label }: { readonly label: string }) {
  const { org } = useParams({ from: '/$org' });
  return (
    <Button asChild>
      <Link to="/$org/agents/$agentId" params={{ org, agentId: 'new' }}>
        {label}
      </Link>
    </Button>
  );
}

/** Finds a text in the title or the description. */
function contains(text: string): Condition | undefined {
  if (text === '') return undefined;
  return {
    operator: 'or',
    conditions: ['title', 'description'].map((field) => ({
      field: [field],
      operator: 'contains' as const,
      value: text,
    })),
  };
}
