import { Link, useParams } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { allOf, equals, useList } from '../../api/queries.js';
import { useCallColumns } from '../../records/call-columns.js';
import { RecordLink } from '../../records/record-link.js';
import { BY_TITLE, STATUS_CHOICE, TitleCell, titleCondition, TitledList } from '../../records/titled-list.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { Page } from '../../ui/page.js';
import { Time } from '../../ui/time.js';

type Agent = ListItem<'COLLECTION_VIRTUAL_MCP_LIST'>;

/** The agents of the organization. */
export function AgentsView() {
  const { org } = useParams({ from: '/$org' });
  const { may } = useOrganization();
  const [{ q, status }] = useFilters();
  const list = useList('COLLECTION_VIRTUAL_MCP_LIST', {
    where: allOf(titleCondition(q), equals('status', status)),
    orderBy: BY_TITLE,
  });
  const calls = useCallColumns('agent', list.rows);
  const mayCreate = may('COLLECTION_VIRTUAL_MCP_CREATE');
  const columns: readonly Column<Agent>[] = [
    {
      header: 'Title',
      cell: ({ id, title, description }) => (
        <TitleCell link={<RecordLink kind="agent" id={id} title={title} />} description={description} />
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
      <TitledList
        label="Agents"
        noun="agent"
        choices={[STATUS_CHOICE]}
        list={list}
        columns={columns}
        hint={
          mayCreate
            ? 'Give one a title, instructions and the tools that it can use. Then talk to it in the playground.'
            : 'Somebody with the permission to create agents can add the first.'
        }
      >
        {mayCreate && <CreateLink label="Create the first agent" />}
      </TitledList>
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
