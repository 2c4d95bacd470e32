import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { useToast } from '../../ui/toast.js';
import { formatNumber } from '../../ui/format.js';
import type { Connection } from './form/connection-draft.js';

/** How many agents are named. */
const NAMED = 20;

/** Deletes a connection after it has said which agents lose its tools. */
export function DeleteConnection({
  connection: { id, title },
  onDeleted,
}: {
  readonly connection: Connection;
  readonly onDeleted: () => void;
}) {
  const showToast = useToast();
  const remove = useChange('COLLECTION_CONNECTIONS_DELETE', [
    'COLLECTION_CONNECTIONS_LIST',
    'COLLECTION_VIRTUAL_MCP_LIST',
  ]);
  const confirm = async (): Promise<void> => {
    await remove.mutateAsync({ id });
    showToast(`The connection “${title}” was deleted.`);
    onDeleted();
  };
  return (
    <ConfirmButton label="Delete connection" title={`Delete “${title}”?`} onConfirm={confirm}>
      <p>Its address, its stored secrets and its settings are gone for good. The record of its calls stays.</p>
      <AgentsOf id={id} />
    </ConfirmButton>
  );
}

function AgentsOf({ id }: { readonly id: string }) {
  const isAllowed = useOrganization().may('COLLECTION_VIRTUAL_MCP_LIST');
  const { data, isError } = useTool(
    'COLLECTION_VIRTUAL_MCP_LIST',
    { connection_id: id, limit: NAMED },
    { isEnabled: isAllowed },
  );
  if (!isAllowed || isError) return <p className="pt-2">Agents that use it lose its tools.</p>;
  if (data === undefined) return <p className="pt-2">Looking for agents that use it…</p>;
  const { items, totalCount } = data;
  const names = items.map((agent) => `“${agent.title}”`).join(', ');
  const more = totalCount > items.length ? ` and ${formatNumber(totalCount - items.length)} more` : '';
  return (
    <p className="pt-2 break-words">
      {totalCount === 0 ? 'No agent uses it.' : `These agents lose its tools: ${names}${more}.`}
    </p>
  );
}
