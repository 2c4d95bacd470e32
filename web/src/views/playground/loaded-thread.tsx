import { type ReactNode, useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';
import { useTranscript } from '../../transcript/use-transcript.js';
import { ErrorState, Loading } from '../../ui/states.js';

/** What a chat begins with. */
export interface ThreadOfChat {
  readonly thread: ListItem<'COLLECTION_THREADS_LIST'>;
  readonly transcript: ReturnType<typeof useTranscript>;
}

/** Shows a chat once its thread and transcript are read. */
export function LoadedThread({
  threadId,
  children,
}: {
  readonly threadId: string;
  readonly children: (chat: ThreadOfChat) => ReactNode;
}) {
  const thread = useTool('COLLECTION_THREADS_GET', { id: threadId });
  const transcript = useTranscript(threadId);
  const item = thread.data?.item;
  const { query } = transcript;
  // A transcript from an earlier visit could lack what was said since.
  const isRead = item?.id === threadId && query.isSuccess && query.isFetchedAfterMount;
  const [begun, setBegun] = useState('');
  if (isRead && begun !== threadId) setBegun(threadId);
  // A chat that has begun goes on with what is being written, though something cannot be read again.
  if (item !== undefined && (isRead || begun === threadId)) return children({ thread: item, transcript });
  if (thread.isError) return <ErrorState error={thread.error} onRetry={() => void thread.refetch()} />;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  return <Loading label="Loading the chat" />;
}
