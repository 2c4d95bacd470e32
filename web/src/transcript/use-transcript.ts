import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { ToolOutput } from '../../../packages/client/src/api.js';
import { toolKey } from '../api/queries.js';
import { useOrganization } from '../session/organization.js';
import { type ChatMessage, toChatMessage, withoutHeard } from './message.js';

const PAGE_SIZE = 40;

type Page = ToolOutput<'COLLECTION_THREAD_MESSAGES_LIST'>;

/** How to read the transcript of a thread. */
interface TranscriptOptions {
  /** Also messages whose place a later answer has taken. */
  readonly isWhole?: boolean;
}

/** The messages of a thread, oldest first, read backwards from the newest page by page. */
export function useTranscript(threadId: string, { isWhole = false }: TranscriptOptions = {}) {
  const { client, slug } = useOrganization();
  const query = useInfiniteQuery({
    queryKey: [...toolKey(slug, 'COLLECTION_THREAD_MESSAGES_LIST'), threadId, isWhole],
    queryFn: ({ pageParam, signal }): Promise<Page> =>
      client.tool(
        'COLLECTION_THREAD_MESSAGES_LIST',
        {
          thread_id: threadId,
          order: 'desc',
          limit: PAGE_SIZE,
          include_superseded: isWhole,
          ...(pageParam && { cursor: pageParam }),
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    // A chat begins with it, so it must have what was said since.
    refetchOnMount: 'always',
  });
  const messages = useMemo(() => messagesOf(query.data), [query.data]);
  return { query, messages, toMessages: messagesOf, totalCount: query.data?.pages[0]?.totalCount };
}

function messagesOf(data: InfiniteData<Page> | undefined): ChatMessage[] {
  const messages = (data?.pages ?? []).flatMap(({ items }) => items).map(toChatMessage);
  return withoutHeard(messages.toReversed());
}
