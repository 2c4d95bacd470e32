import { useFilters } from '../../api/filters.js';
import { allOf, type Condition, equals, useList } from '../../api/queries.js';
import { useCallColumns } from '../../records/call-columns.js';
import { RecordLink } from '../../records/record-link.js';
import { BY_TITLE, STATUS_CHOICE, TitleCell, titleCondition, TitledList } from '../../records/titled-list.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { Page } from '../../ui/page.js';
import { ConnectionStatus } from './connection-status.js';
import type { Connection } from './form/connection-draft.js';
import { CreateConnectionDialog } from './form/create-connection.js';

const TYPE_CHOICE = {
  name: 'type',
  label: 'Type',
  options: [
    { value: '', label: 'Any type' },
    { value: 'HTTP', label: 'HTTP' },
    { value: 'STDIO', label: 'Program' },
  ],
} as const;

/** Agents have a view of their own. */
const NO_AGENTS: Condition = {
  operator: 'not',
  conditions: [{ field: ['connection_type'], operator: 'eq', value: 'VIRTUAL' }],
};

/** The MCP servers that the organization uses. */
export function ConnectionsView() {
  const { may } = useOrganization();
  const [{ q, status, type, create = '', server = '', created = '' }, filter] = useFilters();
  const list = useList('COLLECTION_CONNECTIONS_LIST', {
    where: allOf(NO_AGENTS, titleCondition(q), equals('status', status), equals('connection_type', type)),
    orderBy: BY_TITLE,
  });
  const calls = useCallColumns('connection', list.rows);
  const mayCreate = may('COLLECTION_CONNECTIONS_CREATE');
  const columns: readonly Column<Connection>[] = [
    {
      header: 'Title',
      cell: ({ id, title, description }) => (
        <TitleCell link={<RecordLink kind="connection" id={id} title={title} />} description={description} />
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
      <TitledList
        label="Connections"
        noun="connection"
        choices={[STATUS_CHOICE, TYPE_CHOICE]}
        list={list}
        columns={columns}
        hint={
          mayCreate
            ? 'Connect an MCP server by its address, run one as a program, or paste the configuration of a client ' +
              'that you use already.'
            : 'Somebody with the permission to create connections can add the first.'
        }
      >
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
      </TitledList>
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
