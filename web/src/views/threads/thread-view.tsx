import { Link, useParams } from '@tanstack/react-router';
import { useTool } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy-button.js';
import { Facts, Page, Section } from '../../ui/page.js';
import { ErrorState, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { CopyThreadButton, DeleteThreadButton, RenameButton } from './thread-actions.js';
import { MetadataSection } from './thread-metadata.js';
import { ThreadRuns } from './thread-runs.js';
import { ThreadTranscript } from './thread-transcript.js';

/** A thread: what was said, its runs, and its metadata. */
export function ThreadView() {
  const { threadId } = useParams({ from: '/$org/threads/$threadId' });
  const { slug } = useOrganization();
  const { data, error, refetch } = useTool('COLLECTION_THREADS_GET', { id: threadId });
  const thread = data?.item;
  const titleOf = useAgentTitles(thread === undefined ? [] : [thread.virtual_mcp_id]);
  if (thread === undefined) {
    return (
      <Page title="Thread">
        {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <Loading label="Loading the thread" />}
      </Page>
    );
  }
  return (
    // What is open or typed concerns this thread, not the copy that is shown next.
    <Page
      key={thread.id}
      title={thread.title}
      description={
        <span className="flex flex-wrap items-center gap-2">
          <StatusBadge status={thread.status} /> Thread with {titleOf(thread.virtual_mcp_id)}
        </span>
      }
      actions={
        <>
          <Button asChild>
            <Link to="/$org/playground/$threadId" params={{ org: slug, threadId: thread.id }}>
              Continue in the playground
            </Link>
          </Button>
          <RenameButton thread={thread} />
          <CopyThreadButton thread={thread} />
          <DeleteThreadButton thread={thread} />
        </>
      }
    >
      <div className="grid grid-cols-1 min-w-0 items-start gap-5 xl:grid-cols-[minmax(0,1fr)_28rem]">
        <ThreadTranscript thread={thread} />
        <div className="flex min-w-0 flex-col gap-5">
          <Section title="Facts">
            <Facts
              items={[
                [
                  'Agent',
                  <Link
                    key="agent"
                    to="/$org/agents/$agentId"
                    params={{ org: slug, agentId: thread.virtual_mcp_id }}
                    className="text-primary underline"
                  >
                    {titleOf(thread.virtual_mcp_id)}
                  </Link>,
                ],
                ['Created', <Time key="created" value={thread.created_at} />],
                ['Changed', <Time key="changed" value={thread.updated_at} />],
                [
                  'Thread',
                  <span key="id" className="flex flex-wrap items-center gap-2">
                    <code className="text-[0.8125rem] break-all">{thread.id}</code>
                    <CopyButton text={thread.id} label="Copy ID" size="small" variant="ghost" />
                  </span>,
                ],
              ]}
            />
          </Section>
          <MetadataSection thread={thread} />
          <ThreadRuns threadId={thread.id} />
        </div>
      </div>
    </Page>
  );
}
