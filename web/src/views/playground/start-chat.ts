import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { toolKey } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { type Draft, partsOf } from './draft.js';
import type { RunOptions } from './run-options.js';
import { runRequestOf } from './run-request.js';

const MAX_TITLE_LENGTH = 80;

/** A message that begins a chat, or goes on in a copy of one. */
interface OpeningMessage {
  readonly threadId: string;
  /** Posting the same message again runs nothing twice. */
  readonly messageId: string;
  readonly agentId: string;
  readonly draft: Draft;
  readonly options: RunOptions;
  /** System messages of the same request. */
  readonly system?: readonly string[];
}

/** What begins a chat. The chat of the thread shows the answer. */
export function useStartChat() {
  const { client, slug } = useOrganization();
  const queries = useQueryClient();
  return useMemo(
    () => ({
      /** Creates a thread that has its title from the message. Returns its id. @throws SignalboxError */
      createThread: async (agentId: string, draft: Draft): Promise<string> => {
        const data = { title: titleOf(draft), virtual_mcp_id: agentId };
        const { item } = await client.tool('COLLECTION_THREADS_CREATE', { data });
        return item.id;
      },
      /** Returns the id of the run. @throws SignalboxError */
      post: async ({ threadId, draft, system = [], ...rest }: OpeningMessage): Promise<string> => {
        const { messages, ...request } = runRequestOf({ parts: partsOf(draft), ...rest });
        const lines = system.map((text) => ({ role: 'system' as const, parts: [{ type: 'text' as const, text }] }));
        const whole = { ...request, messages: [...lines, ...messages] };
        const { taskId } = await client.post(threadId, whole, { idempotencyKey: rest.messageId });
        void queries.invalidateQueries({ queryKey: toolKey(slug, 'COLLECTION_THREADS_LIST') });
        return taskId;
      },
    }),
    [client, queries, slug],
  );
}

/** The first line, or the name of the first file. */
function titleOf({ text, files }: Draft): string {
  const line = text.trim().split(/\s*\n/)[0] || (files[0]?.filename ?? 'Files');
  return line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH - 1).toWellFormed()}…` : line;
}
