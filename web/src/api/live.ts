import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ToolName } from '../../../packages/client/src/api.js';
import { readFrames } from '../../../packages/client/src/event-frames.js';
import { backoffMs, pause } from '../../../packages/client/src/http.js';
import { useOrganization } from '../session/organization.js';
import { reportSignedOut } from '../session/signed-out.js';
import { toolKey } from './queries.js';

/** The tools whose answers show what a change is about. */
const SHOWN_BY = {
  run: ['RUN_LIST', 'RUN_GET', 'COLLECTION_THREAD_MESSAGES_LIST', 'WEBHOOK_DELIVERIES_LIST'],
  approval: ['RUN_LIST', 'RUN_GET', 'COLLECTION_THREAD_MESSAGES_LIST'],
  thread: ['COLLECTION_THREADS_LIST', 'COLLECTION_THREADS_GET'],
  connection: ['COLLECTION_CONNECTIONS_LIST', 'COLLECTION_CONNECTIONS_GET', 'COLLECTION_VIRTUAL_MCP_GET'],
  schedule: ['SCHEDULE_LIST'],
  webhook: ['WEBHOOK_LIST', 'WEBHOOK_DELIVERIES_LIST'],
} as const satisfies Readonly<Record<string, readonly ToolName[]>>;

type Change = keyof typeof SHOWN_BY | 'resync';

const SILENCE_MS = 60_000;
/** Statuses after which another attempt is refused as well. */
const REFUSED = new Set([401, 403, 404]);

/**
 * Reads answers again when the service reports a change of what they show: one stream (`GET /api/:org/events`) for the page,
 * opened again after it breaks.
 */
export function useLiveChanges(): void {
  const { slug, fetch } = useOrganization();
  const queries = useQueryClient();
  useEffect(() => {
    const closing = new AbortController();
    const { signal } = closing;
    const refresh = (type: Change): void => {
      if (type === 'resync') void queries.invalidateQueries({ queryKey: [slug] });
      else for (const name of SHOWN_BY[type] ?? []) void queries.invalidateQueries({ queryKey: toolKey(slug, name) });
    };
    const follow = async (): Promise<void> => {
      for (let attempt = 1; !signal.aborted; attempt++) {
        try {
          const response = await fetch(`/api/${slug}/events`, { headers: { accept: 'text/event-stream' }, signal });
          if (response.status === 401) reportSignedOut();
          if (REFUSED.has(response.status) || response.body === null) return;
          let isFirst = attempt === 1;
          for await (const { data } of readFrames(response.body, SILENCE_MS)) {
            attempt = 1;
            // The first event of the first stream finds a page that has just read everything.
            if (!isFirst) refresh((JSON.parse(data) as { type: Change }).type);
            isFirst = false;
          }
        } catch {
          // The connection broke, or the page leaves.
        }
        await pause(backoffMs(attempt), signal).catch(() => undefined);
      }
    };
    void follow();
    return () => closing.abort();
  }, [slug, fetch, queries]);
}
