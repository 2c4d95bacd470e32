import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { toolKey } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import type { RunOptions } from './run-options.js';

const MAX_TITLE_LENGTH = 80;

/** A message that begins a chat, or goes on in a copy of one. */
interface OpeningMessage {
  readonly threadId: string;
  /** Posting the same message again runs nothing twice. */
  readonly messageId: string;
  readonly agentId: string;
  readonly text: string;
  readonly options: RunOptions;
}

/** What begins a chat. The chat of the thread shows the answer. */
export function useStartChat() {
  const { client, slug } = useOrganization();
  const queries = useQueryClient();
  return useMemo(
    () => ({
      /** Creates a thread that has its title from the text. Returns its id. @throws SignalboxError */
      createThread: async (agentId: string, text: string): Promise<string> => {
        const data = { title: titleOf(text), virtual_mcp_id: agentId };
        const { item } = await client.tool('COLLECTION_THREADS_CREATE', { data });
        return item.id;
      },
      /** @throws SignalboxError */
      post: async ({ threadId, messageId, agentId, text, options }: OpeningMessage): Promise<void> => {
        const { tier, temperature } = options;
        const request = {
          messages: [{ id: messageId, role: 'user' as const, parts: [{ type: 'text' as const, text }] }],
          agent: { id: agentId },
          ...(tier && { tier }),
          ...(temperature !== undefined && { temperature }),
        };
        await client.post(threadId, request, { idempotencyKey: messageId });
        void queries.invalidateQueries({ queryKey: toolKey(slug, 'COLLECTION_THREADS_LIST') });
      },
    }),
    [client, queries, slug],
  );
}

function titleOf(text: string): string {
  const line = text.trim().split(/\s*\n/)[0] ?? '';
  return line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH - 1).toWellFormed()}…` : line;
}
