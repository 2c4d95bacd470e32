import { useQueryClient } from '@tanstack/react-query';
import { readUIMessageStream, type UIMessageChunk } from 'ai';
import { useEffect, useState } from 'react';
import { resultKey, toolKey } from '../../api/queries.js';
import type { Pause } from '../../api/turns.js';
import { isOpen as isOpenRun, type Run } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import type { ChatMessage, Retry } from '../../transcript/message.js';
import { runChunks } from '../../transcript/run-chunks.js';

/** What the end of a run changes. */
const CHANGED = [
  'RUN_GET',
  'RUN_LIST',
  'RUN_MODEL_CALL_GET',
  'MONITORING_LOGS_LIST',
  'AUDIT_EVENTS_LIST',
  'WEBHOOK_DELIVERIES_LIST',
] as const;

/**
 * The answer of a run while it is written, from its stream; undefined for a run that is over, and until the stream
 * begins.
 */
export function useLiveRun(run: Run | undefined): {
  readonly message: ChatMessage | undefined;
  /** How often the model was called again, and why. */
  readonly retries: readonly Retry[];
} {
  const { client, slug } = useOrganization();
  const queries = useQueryClient();
  const [message, setMessage] = useState<ChatMessage>();
  const [retries, setRetries] = useState<readonly Retry[]>([]);
  const id = run?.id;
  const threadId = run?.thread_id;
  const isOpen = run !== undefined && isOpenRun(run);
  useEffect(() => {
    if (id === undefined || threadId === undefined || !isOpen) return undefined;
    const abort = new AbortController();
    let frame = 0;
    const follow = async (): Promise<void> => {
      // While other tabs read streams, the view shows the stored answer.
      const onPaused = (why: Pause | undefined): void => void (why !== undefined && setMessage(undefined));
      const chunks = runChunks(client, { threadId, taskId: id }, { signal: abort.signal, onPaused });
      const stream = chunks.pipeThrough(
        new TransformStream<UIMessageChunk, UIMessageChunk>({
          transform(chunk, controller) {
            if (chunk.type === 'data-retry') setRetries((all) => [...all, chunk.data as Retry]);
            controller.enqueue(chunk);
          },
        }),
      );
      for await (const state of readUIMessageStream<ChatMessage>({ stream, onError: () => undefined })) {
        // A long answer has more chunks than the screen has pictures.
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(() => setMessage(state));
      }
      for (const name of CHANGED) void queries.invalidateQueries({ queryKey: toolKey(slug, name) });
      void queries.invalidateQueries({ queryKey: resultKey(slug, id) });
    };
    // Without the stream (lost, expired, not permitted), the view shows what it reads again and again.
    follow().catch(() => undefined);
    return () => {
      abort.abort();
      cancelAnimationFrame(frame);
    };
  }, [client, slug, queries, id, threadId, isOpen]);
  return { message, retries };
}
