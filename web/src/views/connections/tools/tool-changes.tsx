import { useQueryClient } from '@tanstack/react-query';
import type { ToolOutput } from '../../../../../packages/client/src/api.js';
import { mcpKey } from '../../../api/mcp.js';
import { useChange, useTool } from '../../../api/queries.js';
import { useOrganization } from '../../../session/organization.js';
import { StateBadge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { JsonBlock } from '../../../ui/code-block.js';
import { Section } from '../../../ui/page.js';
import { ErrorMessage } from '../../../ui/states.js';
import { formatNumber } from '../../../ui/format.js';

type ToolsDiff = ToolOutput<'CONNECTION_TOOLS_DIFF'>;
type ChangedTool = ToolsDiff['items'][number];

/** The tools of a pinned connection whose definition is not approved, with what changed in each. */
export function ToolChanges({ connectionId, pin }: { readonly connectionId: string; readonly pin: 'warn' | 'block' }) {
  const { may } = useOrganization();
  return may('CONNECTION_TOOLS_DIFF') ? <Changes connectionId={connectionId} pin={pin} /> : null;
}

function Changes({ connectionId, pin }: Parameters<typeof ToolChanges>[0]) {
  const { may, slug } = useOrganization();
  const queries = useQueryClient();
  const diff = useTool('CONNECTION_TOOLS_DIFF', { id: connectionId });
  const approve = useChange('CONNECTION_TOOLS_APPROVE', ['CONNECTION_TOOLS_DIFF']);
  if (diff.isPending) return null;
  if (diff.isError) return <ErrorMessage error={diff.error} />;
  const { items, total, removed, error } = diff.data;
  if (total === 0 && removed.length === 0 && error === undefined) return null;
  const approveTools = (tools: readonly ChangedTool[]): void =>
    approve.mutate(
      {
        id: connectionId,
        tools: tools.map(({ name }) => name),
        fingerprints: tools.map(({ fingerprint }) => fingerprint),
      },
      {
        onSuccess: () => void queries.invalidateQueries({ queryKey: mcpKey(slug, connectionId) }),
        onError: () => void diff.refetch(),
      },
    );
  const mayApprove = may('CONNECTION_TOOLS_APPROVE');
  return (
    <Section
      title="Tools that are not approved"
      actions={
        mayApprove &&
        items.length > 1 && (
          <Button size="small" variant="secondary" isBusy={approve.isPending} onClick={() => approveTools(items)}>
            Approve all {formatNumber(items.length)}
          </Button>
        )
      }
    >
      <p className="text-sm text-muted-foreground">
        {pin === 'block'
          ? 'They are neither listed nor called until somebody approves them.'
          : 'They are marked in lists and can be called.'}
      </p>
      {error !== undefined && <p className="text-sm break-words">The server cannot be listed now: {error}</p>}
      <ErrorMessage error={approve.error} />
      <ul aria-label="Tools that are not approved" className="flex min-w-0 flex-col gap-3">
        {items.map((tool) => (
          <li key={tool.fingerprint} className="flex min-w-0 flex-col gap-2 border-l-2 pl-3">
            <span className="flex flex-wrap items-center gap-2">
              <span className="font-mono text-sm break-all">{tool.name}</span>
              <StateBadge state={pin === 'block' ? 'blocked' : 'waiting'}>{tool.status}</StateBadge>
              {tool.renamed_from !== null && (
                <span className="text-sm break-all">the same as the approved “{tool.renamed_from}”</span>
              )}
              {mayApprove && (
                <Button size="small" isBusy={approve.isPending} onClick={() => approveTools([tool])}>
                  Approve <span className="sr-only">{tool.name}</span>
                </Button>
              )}
            </span>
            <Differences tool={tool} />
          </li>
        ))}
      </ul>
      {total > items.length && (
        <p className="text-sm text-muted-foreground">{formatNumber(total - items.length)} more are not shown.</p>
      )}
      {removed.length > 0 && <p className="text-sm break-words">No longer listed: {removed.join(', ')}</p>}
    </Section>
  );
}

function Differences({ tool }: { readonly tool: ChangedTool }) {
  if (tool.changes.length === 0) return <JsonBlock label={`The definition of ${tool.name}`} value={tool.definition} />;
  return (
    <dl className="flex min-w-0 flex-col gap-2 text-sm">
      {tool.changes.map(({ path, before, after }) => (
        <div key={path} className="flex min-w-0 flex-col gap-1">
          <dt className="font-mono text-[0.8125rem] break-all">{path === '' ? 'The definition' : path}</dt>
          {before !== undefined && (
            <dd className="break-words whitespace-pre-wrap">
              <span className="text-muted-foreground">approved:</span> <del>{textOf(before)}</del>
            </dd>
          )}
          {after !== undefined && (
            <dd className="break-words whitespace-pre-wrap">
              <span className="text-muted-foreground">now:</span> <ins>{textOf(after)}</ins>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
