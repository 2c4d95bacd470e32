import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Page } from '../../ui/page.js';
import { ErrorState, Loading } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { AccessTab } from '../connections/access-tab.js';
import { AgentOverview } from './agent-overview.js';
import { AgentRuns } from './agent-runs.js';
import { AgentWorkbench } from './agent-workbench.js';
import { CreateAgent } from './create-agent.js';
import { AgentVersions } from './versions/agent-versions.js';
import { UseAgent } from './use-it/use-agent.js';

const ROUTE = '/$org/agents/$agentId';
const TABS = ['build', 'overview', 'runs', 'versions', 'use', 'access'];

/** One agent, or the form for a new one at `agents/new`. */
export function AgentView() {
  const { agentId } = useParams({ from: ROUTE });
  return agentId === 'new' ? <CreateAgent /> : <ExistingAgent key={agentId} />;
}

function ExistingAgent() {
  const { org, agentId } = useParams({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const { may } = useOrganization();
  // Who cannot change the agent looks at it first.
  const first = may('COLLECTION_VIRTUAL_MCP_UPDATE') ? 'build' : 'overview';
  const { tab = first } = useSearch({ from: ROUTE });
  const agent = useTool('COLLECTION_VIRTUAL_MCP_GET', { id: agentId });
  if (agent.data === undefined)
    return (
      <Page title="Agent">
        {agent.isError ? (
          <ErrorState error={agent.error} onRetry={() => void agent.refetch()} />
        ) : (
          <Loading label="Loading the agent" />
        )}
      </Page>
    );
  const { item, tools, definition_tokens: tokens, applied_tool_mode: mode } = agent.data;
  return (
    <Page
      title={item.title}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <StatusBadge status={item.status} />
          {item.description && <span className="break-words">{item.description}</span>}
        </span>
      }
      actions={
        may('COLLECTION_THREADS_CREATE') && (
          <Button asChild>
            <Link to="/$org/playground" params={{ org }} search={{ agent: item.id }}>
              Open in playground
            </Link>
          </Button>
        )
      }
    >
      <Tabs
        label="Parts of the agent"
        selected={TABS.includes(tab) ? tab : first}
        onSelect={(id) =>
          void navigate({ search: (current) => ({ ...current, tab: id === first ? undefined : id }) as never })
        }
        tabs={[
          { id: 'build', label: 'Build', content: () => <AgentWorkbench agent={item} tokens={tokens} /> },
          {
            id: 'overview',
            label: 'Overview',
            content: () => <AgentOverview {...{ agent: item, tools, tokens, mode }} />,
          },
          { id: 'runs', label: 'Runs', content: () => <AgentRuns agentId={item.id} /> },
          { id: 'versions', label: 'Versions', content: () => <AgentVersions agent={item} /> },
          { id: 'use', label: 'Use it', content: () => <UseAgent agent={item} tools={tools} /> },
          { id: 'access', label: 'Access', content: () => <AccessTab id={item.id} /> },
        ]}
      />
    </Page>
  );
}
