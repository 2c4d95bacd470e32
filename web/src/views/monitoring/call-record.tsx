import { Link } from '@tanstack/react-router';
import { useList } from '../../api/queries.js';
import { useNameOf } from '../../pick/choices.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { JsonBlock } from '../../ui/code-block.js';
import { CopyButton } from '../../ui/copy-button.js';
import { Dialog } from '../../ui/dialog.js';
import { Facts } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatDuration } from '../../ui/format.js';
import { Time } from '../../ui/time.js';
import { DOORS } from './call-conditions.js';
import { type Call, callerOf } from './calls-list.js';

/** One call, in a dialog. @param id of its record; undefined for none */
export function CallRecord({ id, onClose }: { readonly id: string | undefined; readonly onClose: () => void }) {
  return (
    <Dialog title="Tool call" isOpen={id !== undefined} onClose={onClose} className="w-[min(52rem,94vw)]">
      {id !== undefined && <Stored id={id} />}
    </Dialog>
  );
}

function Stored({ id }: { readonly id: string }) {
  const { query, rows } = useList('MONITORING_LOGS_LIST', {
    where: { field: ['id'], operator: 'eq', value: id },
    limit: 1,
  });
  const [call] = rows;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending || query.isPlaceholderData) return <Loading />;
  if (call === undefined) return <EmptyState title="There is no record with this id." />;
  return <Details call={call} />;
}

function Details({ call }: { readonly call: Call }) {
  const { slug } = useOrganization();
  const agentId = call.agent_id;
  const agent = useNameOf('agent', agentId);
  const run = useNameOf('run', call.run_id);
  const isRecorded = call.arguments !== null || call.result !== null;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Facts
        items={[
          ['Tool', <code key="tool">{call.tool_name}</code>],
          [
            'Connection',
            call.connection_id === null ? (
              'Management of this service'
            ) : (
              <Link
                key="connection"
                to="/$org/connections/$connectionId"
                params={{ org: slug, connectionId: call.connection_id }}
                className="text-primary underline"
              >
                {call.connection_title ?? call.connection_id}
              </Link>
            ),
          ],
          agentId !== null && [
            'Agent',
            <Link
              key="agent"
              to="/$org/agents/$agentId"
              params={{ org: slug, agentId }}
              className="text-primary underline"
            >
              {agent}
            </Link>,
          ],
          ['Outcome', <StatusBadge key="status" status={call.status} />],
          call.error_code !== null && ['Error', <code key="error">{call.error_code}</code>],
          ['Took', formatDuration(call.duration_ms)],
          ['Came as', DOORS[call.door] ?? call.door],
          ['Caller', callerOf(call)],
          call.run_id !== null && [
            'Run',
            <Link
              key="run"
              to="/$org/runs/$runId"
              params={{ org: slug, runId: call.run_id }}
              className="text-primary underline"
            >
              {run}
            </Link>,
          ],
          ['When', <Time key="when" value={call.at} />],
          [
            'Request',
            <span key="request" className="flex flex-wrap items-center gap-2">
              <code className="break-all">{call.request_id}</code>
              <CopyButton text={call.request_id} />
            </span>,
          ],
        ]}
      />
      {isRecorded ? (
        <>
          <h3 className="font-medium">Arguments</h3>
          <JsonBlock value={call.arguments} label="Arguments" />
          <h3 className="font-medium">Result</h3>
          <JsonBlock value={call.result} label="Result" />
        </>
      ) : (
        <p className="text-sm text-muted-foreground">
          Arguments and results were not recorded. The{' '}
          <Link
            to="/$org/settings/$section"
            params={{ org: slug, section: 'organization' }}
            className="text-primary underline"
          >
            settings of the organization
          </Link>{' '}
          say whether they are.
        </p>
      )}
    </div>
  );
}
