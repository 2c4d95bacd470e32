import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useTool } from '../../api/queries.js';
import { Page } from '../../ui/page.js';
import { ErrorState, Loading } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { AccessTab } from './access-tab.js';
import { ConnectionStatus } from './connection-status.js';
import { OverviewTab } from './overview-tab.js';
import { PromptsTab } from './prompts-tab.js';
import { ResourcesTab } from './resources-tab.js';
import { SettingsTab } from './settings-tab.js';
import { ToolChanges } from './tools/tool-changes.js';
import { ToolsTab } from './tools/tools-tab.js';

const ROUTE = '/$org/connections/$connectionId';
const TABS = ['overview', 'tools', 'resources', 'prompts', 'access', 'settings'];

/** One connection: its state, tools, resources, prompts, who can use it, and its settings. */
export function ConnectionView() {
  const { connectionId } = useParams({ from: ROUTE });
  const { tab = 'overview' } = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: ROUTE });
  const connection = useTool('COLLECTION_CONNECTIONS_GET', { id: connectionId });
  const item = connection.data?.item;
  if (item === undefined || item.id !== connectionId)
    return (
      <Page title="Connection">
        {connection.isError ? (
          <ErrorState error={connection.error} onRetry={() => void connection.refetch()} />
        ) : (
          <Loading label="Loading the connection" />
        )}
      </Page>
    );
  return (
    <Page
      title={item.title}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <ConnectionStatus connection={item} />
          {item.description && <span className="break-words">{item.description}</span>}
        </span>
      }
    >
      <Tabs
        label="Parts of the connection"
        selected={TABS.includes(tab) ? tab : 'overview'}
        onSelect={(id) => void navigate({ search: id === 'overview' ? {} : { tab: id } })}
        tabs={[
          { id: 'overview', label: 'Overview', content: () => <OverviewTab connection={item} /> },
          {
            id: 'tools',
            label: 'Tools',
            content: () => (
              <div className="flex min-w-0 flex-col gap-4">
                {item.pin !== 'off' && <ToolChanges connectionId={item.id} pin={item.pin} />}
                <ToolsTab connectionId={item.id} />
              </div>
            ),
          },
          { id: 'resources', label: 'Resources', content: () => <ResourcesTab connectionId={item.id} /> },
          { id: 'prompts', label: 'Prompts', content: () => <PromptsTab connectionId={item.id} /> },
          {
            id: 'access',
            label: 'Access',
            content: () => <AccessTab id={item.id} isPublic={item.public_tools === 'honor'} />,
          },
          { id: 'settings', label: 'Settings', content: () => <SettingsTab key={item.id} connection={item} /> },
        ]}
      />
    </Page>
  );
}
