import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { mcpKey } from '../../api/mcp.js';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { StateBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Section } from '../../ui/page.js';
import { ErrorMessage } from '../../ui/states.js';
import { formatDuration, formatNumber } from '../../ui/format.js';
import { Time } from '../../ui/time.js';

type Tested = ToolOutput<'CONNECTION_TEST'>;

interface Attempt {
  readonly at: string;
  readonly tested: Tested;
}

/** Tests a connection or an agent, and keeps a log of what happened while the view is open. */
export function ConnectionTest({ id, what }: { readonly id: string; readonly what: 'connection' | 'agent' }) {
  const { may, slug } = useOrganization();
  const queries = useQueryClient();
  const [log, setLog] = useState<readonly Attempt[]>([]);
  const test = useChange('CONNECTION_TEST', [
    'COLLECTION_CONNECTIONS_GET',
    'COLLECTION_CONNECTIONS_LIST',
    'COLLECTION_VIRTUAL_MCP_GET',
  ]);
  if (!may('CONNECTION_TEST')) return null;
  const run = (): void =>
    test.mutate(
      { id },
      {
        onSuccess: (tested) => {
          setLog((earlier) => [{ at: new Date().toISOString(), tested }, ...earlier]);
          void queries.invalidateQueries({ queryKey: mcpKey(slug, id) });
        },
      },
    );
  return (
    <Section
      title="Test"
      actions={
        <Button size="small" isBusy={test.isPending} onClick={run}>
          {what === 'connection' ? 'Test connection' : 'Test agent'}
        </Button>
      }
    >
      <p className="text-sm text-muted-foreground">
        {what === 'connection'
          ? 'Connects in a new session, agrees on a protocol version, lists the tools, and updates the status.'
          : 'Lists the tools of all connections of the agent, and updates the status.'}
      </p>
      <div aria-live="polite" className="flex min-w-0 flex-col gap-3">
        {test.isPending && <p className="text-sm">Testing…</p>}
        <ErrorMessage error={test.error} />
        {log.length > 0 && (
          <ol aria-label="Log of the tests" className="flex min-w-0 flex-col gap-3">
            {log.map(({ at, tested }) => (
              <li key={at} className="flex min-w-0 flex-col gap-1 border-l-2 pl-3 text-sm">
                <span className="flex flex-wrap items-center gap-2">
                  <StateBadge state={tested.ok ? 'ready' : 'failed'}>{tested.ok ? 'works' : 'failed'}</StateBadge>
                  <span>after {formatDuration(tested.latency_ms)}</span>
                  <span className="text-muted-foreground">
                    <Time value={at} />
                  </span>
                </span>
                <Steps tested={tested} what={what} />
              </li>
            ))}
          </ol>
        )}
      </div>
    </Section>
  );
}

/** What the test did. A step that failed is the last. */
function Steps({ tested, what }: { readonly tested: Tested; readonly what: 'connection' | 'agent' }) {
  const { ok, tools, protocol_version: version, error } = tested;
  return (
    <ul className="flex list-disc flex-col gap-0.5 pl-5">
      {version !== null && <li>Connected; both sides speak MCP {version}.</li>}
      {(ok || tools > 0) && (
        <li>
          Listed {formatNumber(tools)} {tools === 1 ? 'tool' : 'tools'}.
        </li>
      )}
      {!ok && (
        <li className="break-words text-destructive">
          {version === null && what === 'connection' ? 'Could not connect: ' : ''}
          {error ?? 'The test failed.'}
        </li>
      )}
    </ul>
  );
}
