import { useFilters } from '../../../api/filters.js';
import { useChange, useTool } from '../../../api/queries.js';
import type { ToolOutput } from '../../../../../packages/client/src/api.js';
import { useOrganization } from '../../../session/organization.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { DataTable } from '../../../ui/data-table.js';
import { ConfirmButton } from '../../../ui/dialog.js';
import { SelectField } from '../../../ui/field.js';
import { Section } from '../../../ui/page.js';
import { EmptyState, ErrorState, Loading, NoPermission } from '../../../ui/states.js';
import { Time } from '../../../ui/time.js';
import { useToast } from '../../../ui/toast.js';
import type { Agent } from '../form/agent-draft.js';
import { useConnectionsById } from '../member-connections.js';
import { type Content, ContentDifferences } from './content-differences.js';
import { wordOf } from './property-words.js';

type Version = ToolOutput<'AGENT_VERSIONS_LIST'>['items'][number];

/** What an agent was earlier: who changed what, and the way back. */
export function AgentVersions({ agent }: { readonly agent: Agent }) {
  const { may } = useOrganization();
  if (!may('AGENT_VERSIONS_LIST'))
    return <NoPermission detail="Your role or key does not include AGENT_VERSIONS_LIST." />;
  return <Versions agent={agent} />;
}

function Versions({ agent }: { readonly agent: Agent }) {
  const [{ version = '' }, filter] = useFilters();
  const { data, error, refetch } = useTool('AGENT_VERSIONS_LIST', { id: agent.id });
  if (error && !data) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading label="Loading the versions" />;
  const { items } = data;
  if (items.length === 0)
    return <EmptyState title="The agent was not changed since versions are kept. The next change makes the first." />;
  const shown = items.find(({ number }) => nameOf(number) === version) ?? items[0];
  return (
    <div className="grid min-w-0 grid-cols-1 items-start gap-4 xl:grid-cols-2">
      <Section title="Versions">
        <DataTable
          label="Versions of the agent"
          rows={items}
          keyOf={({ number }) => String(number)}
          columns={[
            {
              header: 'Version',
              cell: (row) => (
                <Button
                  size="small"
                  variant={row === shown ? 'primary' : 'secondary'}
                  aria-pressed={row === shown}
                  aria-label={`Show version ${row.number}`}
                  onClick={() => filter({ version: nameOf(row.number) })}
                >
                  {row.number}
                </Button>
              ),
            },
            {
              header: 'Changed',
              cell: (row) => (
                <span className="flex flex-col items-start gap-1">
                  <span className="break-words">{changesOf(row, items)}</span>
                  {row.restored_from !== null && <Badge tone="info">back to version {row.restored_from}</Badge>}
                </span>
              ),
            },
            { header: 'When', isSecondary: true, cell: ({ created_at: at }) => <Time value={at} /> },
            { header: 'By', isSecondary: true, cell: (row) => <span className="wrap-anywhere">{authorOf(row)}</span> },
          ]}
        />
      </Section>
      {shown && <Shown key={shown.number} agent={agent} version={shown} versions={items} />}
    </div>
  );
}

/** One version: what it changed, or what going back to it would change. */
function Shown({
  agent,
  version: { number },
  versions,
}: {
  readonly agent: Agent;
  readonly version: Version;
  readonly versions: readonly Version[];
}) {
  const { may } = useOrganization();
  const showToast = useToast();
  const [{ compare = '' }, filter] = useFilters();
  const mayRead = may('AGENT_VERSION_GET');
  const previous = versions.find((each) => each.number === number - 1);
  const withNow = compare === 'now' || previous === undefined;
  const own = useTool('AGENT_VERSION_GET', { id: agent.id, number }, { isEnabled: mayRead });
  const other = useTool(
    'AGENT_VERSION_GET',
    { id: agent.id, number: previous?.number ?? number },
    { isEnabled: mayRead && !withNow },
  );
  const restore = useChange('AGENT_VERSION_RESTORE', [
    'COLLECTION_VIRTUAL_MCP_GET',
    'COLLECTION_VIRTUAL_MCP_LIST',
    'COLLECTION_CONNECTIONS_LIST',
    'AGENT_VERSIONS_LIST',
  ]);
  const goBack = async (): Promise<void> => {
    const { missing_connections: missing } = await restore.mutateAsync({ id: agent.id, number });
    const left = missing.length === 0 ? '' : ` ${missing.length} of its connections exist no more.`;
    showToast(`The agent is back at version ${number}.${left}`);
    filter({ version: '' });
  };
  const content = own.data?.item.content;
  const base = withNow ? (agent as Content) : other.data?.item.content;
  const unread = content === undefined ? own : other;
  const ids = [content, base].flatMap((each) => each?.connections.map(({ connection_id: id }) => id) ?? []);
  const connections = useConnectionsById([...new Set(ids)]);
  const titles = new Map([...connections].map(([id, { title }]) => [id, title]));
  if (!mayRead) return <NoPermission detail="Your role or key does not include AGENT_VERSION_GET." />;
  return (
    <Section
      title={`Version ${number}`}
      actions={
        number === versions[0]?.number ? (
          <Badge>now</Badge>
        ) : (
          may('AGENT_VERSION_RESTORE') && (
            <ConfirmButton
              size="small"
              label={`Go back to version ${number}`}
              title={`Go back to version ${number}?`}
              onConfirm={goBack}
            >
              The agent gets the content of this version, as a new version. Its status, its spending limit and its name
              in programs stay.
            </ConfirmButton>
          )
        )
      }
    >
      <SelectField
        label="Compare with"
        value={withNow ? 'now' : 'before'}
        options={[
          ...(previous === undefined ? [] : [{ value: 'before', label: `Version ${previous.number}, before it` }]),
          { value: 'now', label: 'The agent now: what going back would change' },
        ]}
        onChange={(value) => filter({ compare: value === 'now' ? 'now' : '' })}
      />
      {content !== undefined && base !== undefined ? (
        <ContentDifferences before={pick(base, content)} after={content} titles={titles} />
      ) : unread.isError ? (
        <ErrorState error={unread.error} onRetry={() => void unread.refetch()} />
      ) : (
        <Loading label="Loading the version" />
      )}
    </Section>
  );
}

/** The properties of an agent that versions have. */
function pick(agent: Content, like: Content): Content {
  return Object.fromEntries(Object.keys(like).map((name) => [name, agent[name as keyof Content]])) as Content;
}

/** A version in the address, which puts numbers in quotes. */
function nameOf(number: number): string {
  return `v${number}`;
}

function changesOf({ number, changed }: Version, versions: readonly Version[]): string {
  if (changed.length > 0) return changed.map(wordOf).join(', ');
  return number === 1 ? 'Created' : number === versions.at(-1)?.number ? 'The oldest version kept' : 'Nothing';
}

function authorOf({ user_email: user, key_name: key, user_id: userId, api_key_id: keyId }: Version): string {
  if (userId === null && keyId === null) return 'not changed here: a connection was deleted or renamed, for example';
  return user ?? (key === null ? 'unknown' : `key ${key}`);
}
