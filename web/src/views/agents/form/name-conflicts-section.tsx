import { useToolsOf } from '../../../api/mcp.js';
import type { Connection } from '../member-connections.js';
import type { MemberDraft } from './agent-draft.js';
import { nameConflicts, prefixOf } from './name-conflicts.js';
import { wantedNameOf } from './selected-tools.js';

const SHOWN = 20;

/** Says which tools of the agent have the same name, and what they will be called. */
export function NameConflicts({
  members,
  connections,
}: {
  readonly members: readonly MemberDraft[];
  readonly connections: ReadonlyMap<string, Connection>;
}) {
  const tools = useToolsOf(members.map(({ connectionId }) => connectionId));
  const conflicts = nameConflicts(
    members.map(({ connectionId, prefix, selectedTools }, index) => ({
      connectionId,
      prefix: prefix || prefixOf(connections.get(connectionId)?.title ?? ''),
      tools: selectedTools?.map(wantedNameOf) ?? tools[index]?.map(({ name }) => name) ?? [],
    })),
  );
  if (conflicts.length === 0) return null;
  return (
    <div role="status" className="flex min-w-0 flex-col gap-1 rounded-md border border-warning/50 p-3 text-sm">
      <p className="font-medium">
        {conflicts.length === 1 ? 'One name is' : `${conflicts.length} names are`} offered by several connections
      </p>
      <p className="text-muted-foreground">
        The model and MCP clients see these tools with the prefix of their connection. All other tools keep their names.
      </p>
      <ul className="flex flex-col gap-0.5">
        {conflicts.slice(0, SHOWN).map(({ name, becomes }) => (
          <li key={name} className="font-mono text-[0.8125rem] break-all">
            {name} → {becomes.join(', ')}
          </li>
        ))}
        {conflicts.length > SHOWN && <li>and {conflicts.length - SHOWN} more</li>}
      </ul>
    </div>
  );
}
