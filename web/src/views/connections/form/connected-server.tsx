import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { mcpKey } from '../../../api/mcp.js';
import { toolKey, useChange, useTool } from '../../../api/queries.js';
import { useOrganization } from '../../../session/organization.js';
import { StateBadge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { Form } from '../../../ui/form.js';
import { ErrorMessage, ErrorState, Loading } from '../../../ui/states.js';
import { formatDuration } from '../../../ui/format.js';
import { UpstreamAccount, usesOauth } from '../upstream-account.js';
import { AgentOfTools } from './agent-of-tools.js';
import { type Connection, httpDataOf, httpDraftOf, programDataOf, programDraftOf } from './connection-draft.js';
import { HttpFields } from './http-fields.js';
import { ProgramFields } from './program-fields.js';

/** A connection that was just created: its test, what to mend if that failed, and its tools. */
export function ConnectedServer({ id }: { readonly id: string }) {
  const { slug, may } = useOrganization();
  const heading = useRef<HTMLHeadingElement>(null);
  const connection = useTool('COLLECTION_CONNECTIONS_GET', { id });
  const test = useTest(id);
  const item = connection.data?.item;
  // The button with the focus is gone.
  useEffect(() => heading.current?.focus(), [item?.id]);
  if (connection.isError && item === undefined)
    return <ErrorState error={connection.error} onRetry={() => void connection.refetch()} />;
  if (item === undefined) return <Loading label="Loading the connection" />;
  const works = test.data?.ok ?? !may('CONNECTION_TEST');
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 ref={heading} tabIndex={-1} className="font-semibold break-words outline-none">
          {item.title}
        </h3>
        <div className="flex flex-wrap gap-2">
          {may('CONNECTION_TEST') && (
            <Button variant="secondary" size="small" isBusy={test.isFetching} onClick={() => void test.refetch()}>
              Test again
            </Button>
          )}
          <Button asChild variant="secondary" size="small">
            <Link to="/$org/connections/$connectionId" params={{ org: slug, connectionId: id }}>
              Open connection
            </Link>
          </Button>
        </div>
      </div>
      <div aria-live="polite" className="flex min-w-0 flex-col gap-2 text-sm">
        <Outcome test={test} />
      </div>
      {works ? (
        <AgentOfTools connection={item} />
      ) : (
        // Stays while a test runs, with what is typed.
        test.isFetched && <Mending connection={item} onSaved={() => void test.refetch()} />
      )}
    </div>
  );
}

/** Tests the connection once; `refetch` tests again. */
function useTest(id: string) {
  const { client, slug, may } = useOrganization();
  const queries = useQueryClient();
  return useQuery({
    // Not under `[slug]`, which is read again after a gap in the stream of changes: nobody asked for another test.
    queryKey: ['connection-test', slug, id],
    queryFn: async ({ signal }) => {
      const tested = await client.tool('CONNECTION_TEST', { id }, { signal });
      const outdated = [
        toolKey(slug, 'COLLECTION_CONNECTIONS_GET'),
        toolKey(slug, 'COLLECTION_CONNECTIONS_LIST'),
        mcpKey(slug, id),
      ];
      for (const queryKey of outdated) void queries.invalidateQueries({ queryKey });
      return tested;
    },
    enabled: may('CONNECTION_TEST'),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  });
}

function Outcome({ test }: { readonly test: ReturnType<typeof useTest> }) {
  const { may } = useOrganization();
  if (!may('CONNECTION_TEST')) return <p>Created. Testing it needs the permission CONNECTION_TEST.</p>;
  if (test.isFetching) return <p>Connecting, and listing the tools…</p>;
  if (test.data === undefined) return <ErrorMessage error={test.error} />;
  const { ok, latency_ms: latency, protocol_version: version, error } = test.data;
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <StateBadge state={ok ? 'ready' : 'failed'}>{ok ? 'works' : 'failed'}</StateBadge>
        <span>
          after {formatDuration(latency)}
          {version !== null && `; both sides speak MCP ${version}`}
        </span>
      </p>
      {!ok && <p className="break-words text-destructive">{error ?? 'The test failed.'}</p>}
    </>
  );
}

/** What to do if the test failed: sign in, or change the settings. */
function Mending({ connection, onSaved }: { readonly connection: Connection; readonly onSaved: () => void }) {
  const { may } = useOrganization();
  const [http, setHttp] = useState(() => httpDraftOf(connection));
  const [program, setProgram] = useState(() => programDraftOf(connection));
  const update = useChange('COLLECTION_CONNECTIONS_UPDATE', ['COLLECTION_CONNECTIONS_LIST']);
  const isHttp = connection.stdio === null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const data = isHttp ? httpDataOf(http) : programDataOf(program);
    update.mutate({ id: connection.id, data }, { onSuccess: onSaved });
  };
  const form = may('COLLECTION_CONNECTIONS_UPDATE') && (
    <Form error={update.error} onSubmit={submit} className="flex min-w-0 flex-col gap-4">
      {isHttp ? (
        <HttpFields draft={http} onChange={setHttp} />
      ) : (
        <ProgramFields draft={program} onChange={setProgram} />
      )}
      <ErrorMessage error={update.error} />
      <div className="flex justify-end">
        <Button type="submit" isBusy={update.isPending}>
          Save and test again
        </Button>
      </div>
    </Form>
  );
  if (!usesOauth(connection.auth)) return form;
  return (
    <>
      <UpstreamAccount connection={connection} auth={connection.auth} />
      <details>
        <summary className="cursor-pointer text-sm">Change the settings of the connection</summary>
        <div className="pt-3">{form}</div>
      </details>
    </>
  );
}
