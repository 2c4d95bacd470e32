import { Link, useParams } from '@tanstack/react-router';
import { useCallback } from 'react';
import { useFilters } from '../../api/filters.js';
import { allOf, type Condition, useList } from '../../api/queries.js';
import { useCallColumns } from '../../records/call-columns.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { SelectField } from '../../ui/field.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { SearchField } from '../../ui/search-field.js';
import { EmptyState } from '../../ui/states.js';
import { ConnectionStatus } from './connection-status.js';
import type { Connection } from './form/connection-draft.js';
import { CreateConnectionDialog } from './form/create-connection.js';

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'active', label: 'Active' },
  { value: 'error', label: 'Error' },
  { value: 'inactive', label: 'Inactive' },
] as const;

const TYPES = [
  { value: '', label: 'Any type' },
  { value: 'HTTP', label: 'HTTP' },
  { value: 'STDIO', label: 'Program' },
] as const;

/** Agents have a view of their own. */
const NO_AGENTS: Condition = { operator: 'not', conditions: [is('connection_type', 'VIRTUAL')] };

/** The MCP servers that the organization uses. */
export function ConnectionsView() {
  const { org } = useParams({ from: '/$org' });
  const { may } = useOrganization();
  const [{ q = '', status = '', type = '', create = '', server = '', created = '' }, filter] = useFilters();
  const search = useCallback((text: string) => filter({ q: text }), [filter]);
  const list = useList('COLLECTION_CONNECTIONS_LIST', {
    where: allOf(
      NO_AGENTS,
      contains(q),
      status ? is('status', status) : undefined,
      type ? is('connection_type', type) : undefined,
    ),
    orderBy: [{ field: ['title'], direction: 'asc' }],
  });
  const calls = useCallColumns('connection', list.rows);
  const mayCreate = may('COLLECTION_CONNECTIONS_CREATE');
  const isFiltered = q !== '' || status !== '' || type !== '';
  const columns: readonly Column<Connection>[] = [
    {
      header: 'Title',
      cell: ({ id, title, description }) => (
        <div className="min-w-0">
          <Link
            to="/$org/connections/$connectionId"
            params={{ org, connectionId: id }}
            className="font-medium break-words text-primary hover:underline"
          >
            {title}
          </Link>
          {description && <p className="line-clamp-1 break-words text-muted-foreground">{description}</p>}
        </div>
      ),
    },
    {
      header: 'Status',
      cell: (connection) => (
        <div className="flex max-w-96 flex-col items-start gap-1">
          <ConnectionStatus connection={connection} />
          {connection.status_reason && (
            <span className="line-clamp-2 text-[0.8125rem] break-words text-muted-foreground">
              {connection.status_reason}
            </span>
          )}
        </div>
      ),
    },
    { header: 'Type', isSecondary: true, cell: ({ connection_type: type }) => (type === 'STDIO' ? 'Program' : type) },
    { header: 'Server', isSecondary: true, cell: (connection) => <Target connection={connection} /> },
    { header: 'Tools', isSecondary: true, align: 'right', cell: ({ tool_count: count }) => count ?? '–' },
    ...calls,
  ];
  return (
    <Page
      title="Connections"
      description="MCP servers whose tools your agents and MCP clients can use."
      actions={mayCreate && <Button onClick={() => filter({ create: 'http' })}>Create connection</Button>}
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
        <SelectField
          label="Type"
          isLabelHidden
          value={type}
          options={TYPES}
          onChange={(value) => filter({ type: value })}
        />
      </div>
      <ListView
        label="Connections"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          isFiltered ? (
            <EmptyState title="No connection matches.">
              <Button variant="secondary" onClick={() => filter({ q: '', status: '', type: '' })}>
                Clear the filters
              </Button>
            </EmptyState>
          ) : (
            <EmptyState title="There are no connections yet.">
              <p className="max-w-prose text-sm text-muted-foreground">
                {mayCreate
                  ? 'Connect an MCP server by its address, run one as a program, or paste the configuration of a ' +
                    'client that you use already.'
                  : 'Somebody with the permission to create connections can add the first.'}
              </p>
              {mayCreate && (
                <div className="flex flex-wrap justify-center gap-2">
                  <Button onClick={() => filter({ create: 'http' })}>Create the first connection</Button>
                  <Button variant="secondary" onClick={() => filter({ create: 'catalog' })}>
                    Choose a well-known server
                  </Button>
                  <Button variant="secondary" onClick={() => filter({ create: 'import' })}>
                    Import a configuration
                  </Button>
                </div>
              )}
            </EmptyState>
          )
        }
      />
      {mayCreate && (
        <CreateConnectionDialog state={{ create, server, created }} onChange={(change) => filter({ ...change })} />
      )}
    </Page>
  );
}

/** Where the server is: its address, or the program's command line. */
export function Target({ connection: { connection_url: url, stdio } }: { readonly connection: Connection }) {
  const text = stdio === null ? url : [stdio.command, ...stdio.args].join(' ');
  return <span className="line-clamp-2 max-w-96 font-mono text-[0.8125rem] break-all">{text}</span>;
}

function is(field: string, value: string): Condition {
  return { field: [field], operator: 'eq', value };
}

/** Finds a text in the title or the description. */
function contains(text: string): Condition | undefined {
  if (text === '') return undefined;
  const fields = ['title', 'description'];
  return {
    operator: 'or',
    conditions: fields.map((field) => ({ field: [field], operator: 'contains' as const, value: text })),
  };
}
