import { useChange, useList } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { useToast } from '../../ui/toast.js';
import { formatNumber } from '../../ui/time.js';
import type { Connection } from './form/connection-draft.js';

/** The service has no list of the agents of a connection: as many agents as fit in one page are looked through. */
const AGENTS_READ = 1000;

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
  const {
    query,
    rows,
    totalCount = 0,
  } = useList('COLLECTION_VIRTUAL_MCP_LIST', { limit: AGENTS_READ }, { isEnabled: isAllowed });
  if (!isAllowed || query.isError) return <p className="pt-2">Agents that use it lose its tools.</p>;
  if (query.isPending) return <p className="pt-2">Looking for agents that use it…</p>;
  const using = rows.filter(({ connections }) => connections.some(({ connection_id: each }) => each === id));
  const names = using.map((agent) => `“${agent.title}”`).join(', ');
  return (
    <p className="pt-2 break-words">
      {using.length === 0 ? 'No agent uses it.' : `These agents lose its tools: ${names}.`}
      {totalCount > rows.length && ` (Of the first ${formatNumber(rows.length)} agents.)`}
    </p>
  );
}
