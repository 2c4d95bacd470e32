import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { type McpTool, useMcpList } from '../../../api/mcp.js';
import { useChange } from '../../../api/queries.js';
import { useOrganization } from '../../../session/organization.js';
import { Button } from '../../../ui/button.js';
import { CheckboxField, TextAreaField, TextField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { EmptyState, ErrorMessage, Loading } from '../../../ui/states.js';
import { formatNumber } from '../../../ui/format.js';
import { ToolChoice } from '../../../tools/tool-choice.js';
import { McpErrorState } from '../mcp-error-state.js';
import type { Connection } from './connection-draft.js';

/** The tools that a connection offers, and an agent with the chosen ones. */
export function AgentOfTools({ connection }: { readonly connection: Connection }) {
  const tools = useMcpList(connection.id, 'tools');
  if (tools.isError && tools.data === undefined)
    return <McpErrorState error={tools.error} onRetry={() => void tools.refetch()} />;
  if (tools.isPending) return <Loading label="Loading the tools" />;
  if (tools.data.length === 0) return <EmptyState title="The server offers no tool that you can call." />;
  return <Choice connection={connection} tools={tools.data} />;
}

function Choice({ connection, tools }: { readonly connection: Connection; readonly tools: readonly McpTool[] }) {
  const { slug, may } = useOrganization();
  const navigate = useNavigate();
  const [selected, setSelected] = useState<readonly string[]>(() => tools.map(({ name }) => name));
  const [title, setTitle] = useState(`${connection.title} agent`);
  const [instructions, setInstructions] = useState('');
  const [asks, setAsks] = useState(false);
  const create = useChange('COLLECTION_VIRTUAL_MCP_CREATE', [
    'COLLECTION_VIRTUAL_MCP_LIST',
    'COLLECTION_CONNECTIONS_LIST',
  ]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const member = { connection_id: connection.id, selected_tools: [...selected] };
    create.mutate(
      {
        data: {
          title: title.trim(),
          instructions: instructions.trim() || null,
          connections: [{ ...member, approval: asks ? ('destructive' as const) : ('none' as const) }],
        },
      },
      {
        onSuccess: ({ item }) =>
          void navigate({ to: '/$org/agents/$agentId', params: { org: slug, agentId: item.id } }),
      },
    );
  };
  const mayCreate = may('COLLECTION_VIRTUAL_MCP_CREATE');
  return (
    <Form error={create.error} onSubmit={submit} className="flex min-w-0 flex-col gap-3">
      <h4 className="text-sm font-medium" aria-live="polite">
        {formatNumber(tools.length)} {tools.length === 1 ? 'tool' : 'tools'}
        {mayCreate && `, ${formatNumber(selected.length)} chosen`}
      </h4>
      <ToolChoice
        title={connection.title}
        tools={tools}
        isUnreadable={false}
        absence="not offered at the moment"
        selected={mayCreate ? selected : null}
        asking={undefined}
        onSelected={setSelected}
        onAsking={setSelected}
      />
      {mayCreate && (
        <>
          <TextField
            label="Title of the agent"
            path="title"
            required
            autoComplete="off"
            value={title}
            onChange={setTitle}
          />
          <TextAreaField
            label="Instructions (optional)"
            path="instructions"
            rows={2}
            placeholder="Look it up before you answer."
            value={instructions}
            onChange={setInstructions}
          />
          <CheckboxField
            label="Ask before destructive calls"
            hint="Somebody approves each call of a tool that is not marked as read-only or harmless."
            checked={asks}
            onChange={setAsks}
          />
          <ErrorMessage error={create.error} />
          <div className="flex justify-end">
            {/* Stays busy until the view of the agent is loaded. */}
            <Button type="submit" isBusy={create.isPending || create.isSuccess} disabled={selected.length === 0}>
              Make an agent with these
            </Button>
          </div>
        </>
      )}
    </Form>
  );
}
