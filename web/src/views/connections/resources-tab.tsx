import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type McpResource, useMcp, useMcpList } from '../../api/mcp.js';
import { Button } from '../../ui/button.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorMessage, Loading } from '../../ui/states.js';
import { McpErrorState } from './mcp-error-state.js';
import { type McpContent, McpContents } from './mcp-content.js';

const SHOWN_AT_ONCE = 100;

/** The documents that a server offers, each with its content on demand. */
export function ResourcesTab({ connectionId }: { readonly connectionId: string }) {
  const [limit, setLimit] = useState(SHOWN_AT_ONCE);
  const resources = useMcpList(connectionId, 'resources');
  if (resources.isError && resources.data === undefined) {
    return hasNone(resources.error) ? (
      <NoResources />
    ) : (
      <McpErrorState error={resources.error} onRetry={() => void resources.refetch()} />
    );
  }
  if (resources.isPending) return <Loading label="Loading the resources" />;
  if (resources.data.length === 0) return <NoResources />;
  return (
    <Section title="Resources">
      <p className="text-sm text-muted-foreground">Documents and data that MCP clients can read from this server.</p>
      <ul className="flex min-w-0 flex-col">
        {resources.data.slice(0, limit).map((resource) => (
          <Resource key={resource.uri} connectionId={connectionId} resource={resource} />
        ))}
      </ul>
      {resources.data.length > limit && (
        <Button variant="secondary" size="small" className="self-start" onClick={() => setLimit(limit + SHOWN_AT_ONCE)}>
          Show more
        </Button>
      )}
    </Section>
  );
}

function NoResources() {
  return <EmptyState title="This server offers no resources." />;
}

/** Servers without resources do not know the method. */
export function hasNone(error: Error): boolean {
  return 'isUnknownMethod' in error && error.isUnknownMethod === true;
}

function Resource({ connectionId, resource }: { readonly connectionId: string; readonly resource: McpResource }) {
  const request = useMcp(connectionId);
  const read = useMutation({
    mutationFn: () => request<{ contents?: readonly McpContent[] }>('resources/read', { uri: resource.uri }),
  });
  const name = resource.title ?? resource.name;
  return (
    <li className="flex min-w-0 flex-col gap-2 border-b py-2 last:border-0">
      <div className="flex flex-wrap items-start justify-between gap-2">
        <div className="min-w-0 flex-1">
          <p className="font-medium break-words">{name}</p>
          <p className="font-mono text-[0.8125rem] break-all text-muted-foreground">{resource.uri}</p>
          {resource.description && <p className="text-sm break-words">{resource.description}</p>}
        </div>
        <Button
          variant="secondary"
          size="small"
          isBusy={read.isPending}
          aria-label={`Read ${name}`}
          onClick={() => read.mutate()}
        >
          Read
        </Button>
      </div>
      <div aria-live="polite" className="min-w-0">
        <ErrorMessage error={read.error} />
        {read.data && <McpContents contents={read.data.contents ?? []} label={`Content of ${name}`} />}
      </div>
    </li>
  );
}
