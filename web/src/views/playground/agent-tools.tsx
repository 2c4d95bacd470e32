import { Link } from '@tanstack/react-router';
import { useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { ErrorState, Loading } from '../../ui/states.js';

const SHOWN = 12;

/** What an agent is and which tools it has, by its last known list. */
export function AgentTools({
  agentId,
  onUse,
}: {
  readonly agentId: string;
  /** Called with the name of a tool that somebody wants to try. */
  readonly onUse: (tool: string) => void;
}) {
  const { slug, may } = useOrganization();
  const { data, error, isPending, refetch } = useTool(
    'COLLECTION_VIRTUAL_MCP_GET',
    { id: agentId },
    { isEnabled: may('COLLECTION_VIRTUAL_MCP_GET') },
  );
  if (!may('COLLECTION_VIRTUAL_MCP_GET')) return null;
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (isPending || data.item.id !== agentId) return <Loading label="Loading the agent" />;
  const { item, tools } = data;
  return (
    <section aria-label="Agent" className="flex flex-col gap-2 rounded-lg border bg-card p-4 text-sm">
      <h2 className="font-semibold">
        <Link to="/$org/agents/$agentId" params={{ org: slug, agentId }} className="text-primary hover:underline">
          {item.title}
        </Link>
      </h2>
      {item.description && <p className="break-words">{item.description}</p>}
      {tools.length === 0 ? (
        <p className="text-muted-foreground">This agent has no tools.</p>
      ) : (
        <ul className="flex flex-wrap gap-1.5" aria-label="Tools of the agent">
          {tools.slice(0, SHOWN).map(({ name }) => (
            <li key={name}>
              <button
                type="button"
                title={`Write a call of ${name}`}
                className="max-w-full truncate min-h-6 rounded-full border bg-muted px-2.5 py-0.5 font-mono text-xs hover:bg-accent pointer-coarse:min-h-11 pointer-coarse:px-4"
                onClick={() => onUse(name)}
              >
                {name}
              </button>
            </li>
          ))}
          {tools.length > SHOWN && (
            <li className="px-1 text-xs text-muted-foreground">and {tools.length - SHOWN} more</li>
          )}
        </ul>
      )}
    </section>
  );
}
