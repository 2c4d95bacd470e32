import { useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';
import { RecordLink } from '../../records/record-link.js';
import { Badge, StatusBadge } from '../../ui/badge.js';
import { JsonBlock } from '../../ui/code-block.js';
import { DataTable } from '../../ui/data-table.js';
import { TextField } from '../../ui/field.js';
import { Facts, Section } from '../../ui/page.js';
import { EmptyState } from '../../ui/states.js';
import { formatDuration, formatNumber } from '../../ui/format.js';
import { Time } from '../../ui/time.js';
import { ConnectionTest } from '../connections/connection-test.js';
import type { Agent, ApprovalRule } from './form/agent-draft.js';
import { type Connection, useConnectionsById } from './member-connections.js';

type Details = ToolOutput<'COLLECTION_VIRTUAL_MCP_GET'>;
type AgentTool = Details['tools'][number];

const SHOWN = 200;

/**
 * What an agent is made of: its settings, its connections with their state, and its tools under the names that models
 * see.
 */
export function AgentOverview({
  agent,
  tools,
  tokens,
  mode,
}: {
  readonly agent: Agent;
  readonly tools: readonly AgentTool[];
  readonly tokens: Details['definition_tokens'];
  readonly mode: Details['applied_tool_mode'];
}) {
  const connections = useConnectionsById(agent.connections.map(({ connection_id: id }) => id));
  const self = useTool('COLLECTION_CONNECTIONS_GET', { id: agent.id });
  const reason = self.data?.item.status_reason;
  return (
    <div className="grid grid-cols-1 min-w-0 items-start gap-4 xl:grid-cols-2">
      <Section title="Settings">
        <Facts
          items={[
            [
              'Status',
              <span key="status" className="flex flex-col items-start gap-1">
                <StatusBadge status={agent.status} />
                {reason && <span className="break-words">{reason}</span>}
              </span>,
            ],
            ['Tier', agent.tier ?? 'default of the organization'],
            ['Steps of a run', `at most ${agent.max_steps}`],
            [
              'History',
              `${formatNumber(agent.history.max_messages)} messages, ${formatNumber(agent.history.max_tokens)} tokens`,
            ],
            ['Time for an approval', formatDuration(agent.approval_timeout * 1000)],
            ['Tools for the model', offerInWords(mode, tokens)],
            ['Changed', <Time key="changed" value={agent.updated_at} />],
          ]}
        />
        <h3 className="text-sm font-medium text-muted-foreground">Instructions</h3>
        {agent.instructions ? (
          <p
            className="max-h-80 overflow-y-auto text-sm break-words whitespace-pre-wrap"
            tabIndex={0}
            role="region"
            aria-label="Instructions"
          >
            {agent.instructions}
          </p>
        ) : (
          <p className="text-sm text-muted-foreground">None.</p>
        )}
        {agent.output_schema && (
          <>
            <h3 className="text-sm font-medium text-muted-foreground">Output schema</h3>
            <JsonBlock value={agent.output_schema} label="Output schema" />
          </>
        )}
      </Section>
      <ConnectionTest id={agent.id} what="agent" />
      <Section title="Connections" className="xl:col-span-2">
        <Members agent={agent} connections={connections} tools={tools} />
      </Section>
      <Section title="Tools" className="xl:col-span-2">
        <Tools tools={tools} connections={connections} />
      </Section>
    </div>
  );
}

function offerInWords(mode: Details['applied_tool_mode'], tokens: Details['definition_tokens']): string {
  const offer = mode === 'search' ? 'a search and the pinned ones' : 'all';
  return `${offer}, about ${formatNumber(tokens[mode])} tokens`;
}

function Members({
  agent,
  connections,
  tools,
}: {
  readonly agent: Agent;
  readonly connections: ReadonlyMap<string, Connection>;
  readonly tools: readonly AgentTool[];
}) {
  if (agent.connections.length === 0)
    return <EmptyState title="The agent has no connections: it answers without tools." />;
  return (
    <DataTable
      label="Connections of the agent"
      rows={agent.connections}
      keyOf={({ connection_id: id }) => id}
      columns={[
        {
          header: 'Connection',
          cell: ({ connection_id: id }) => {
            const { title, connection_type: type } = connections.get(id) ?? { title: id };
            return <RecordLink kind={type === 'VIRTUAL' ? 'agent' : 'connection'} id={id} title={title} />;
          },
        },
        { header: 'Status', cell: ({ connection_id: id }) => <MemberStatus connection={connections.get(id)} /> },
        {
          header: 'Tools',
          isSecondary: true,
          cell: ({ connection_id: id, selected_tools: selected }) => {
            const count = tools.filter((tool) => tool.connection_id === id).length;
            if (selected !== null) return `${selected.length} chosen`;
            // The tools of an agent inside are listed under the connections that they come from.
            return count === 0 ? 'all' : `all (${count} known)`;
          },
        },
        { header: 'Approvals', isSecondary: true, cell: ({ approval }) => approvalInWords(approval) },
      ]}
    />
  );
}

function MemberStatus({ connection }: { readonly connection: Connection | undefined }) {
  if (connection === undefined) return <Badge>unknown</Badge>;
  return (
    <span className="flex max-w-md flex-col items-start gap-1">
      <StatusBadge status={connection.status} />
      {connection.status !== 'active' && (
        <span className="text-[0.8125rem] break-words text-muted-foreground">
          {connection.status_reason ?? 'Switched off.'} The agent does without its tools meanwhile.
        </span>
      )}
    </span>
  );
}

function approvalInWords(rule: ApprovalRule): string {
  if (rule === 'none') return 'never asks';
  if (rule === 'all') return 'asks before every call';
  if (rule === 'destructive') return 'asks before destructive calls';
  return `asks before ${rule.join(', ') || 'no call'}`;
}

function Tools({
  tools,
  connections,
}: {
  readonly tools: readonly AgentTool[];
  readonly connections: ReadonlyMap<string, Connection>;
}) {
  const [text, setText] = useState('');
  if (tools.length === 0)
    return <EmptyState title="No tool is known yet. Test the agent to list the tools of its connections." />;
  const found = tools.filter(({ name, upstream_name: own }) =>
    [name, own].some((each) => each.toLowerCase().includes(text.trim().toLowerCase())),
  );
  const renamed = tools.filter(({ name, upstream_name: own }) => name !== own).length;
  return (
    <>
      <p className="text-sm text-muted-foreground">
        {formatNumber(tools.length)} tools under the names that models and MCP clients see.{' '}
        {renamed > 0 &&
          `${formatNumber(renamed)} have another name: one that the agent gives, or a prefix, because several connections offer the same.`}
      </p>
      <TextField label="Find tools" isLabelHidden placeholder="Find tools" value={text} onChange={setText} />
      <DataTable
        label="Tools of the agent"
        rows={found.slice(0, SHOWN)}
        keyOf={({ name }) => name}
        columns={[
          {
            header: 'Name',
            cell: ({ name }) => <span className="font-mono text-[0.8125rem] break-all">{name}</span>,
          },
          {
            header: 'Connection',
            cell: ({ connection_id: id }) => (
              <span className="break-words">{connections.get(id)?.title ?? 'of an agent inside'}</span>
            ),
          },
          {
            header: 'Own name',
            isSecondary: true,
            cell: ({ name, upstream_name: own }) => (
              <span className={`font-mono text-[0.8125rem] break-all ${name === own ? 'text-muted-foreground' : ''}`}>
                {own}
              </span>
            ),
          },
        ]}
      />
      {found.length > SHOWN && (
        <p className="text-sm text-muted-foreground">{formatNumber(found.length - SHOWN)} more: search for the name.</p>
      )}
    </>
  );
}
