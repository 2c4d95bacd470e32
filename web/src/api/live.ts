import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ToolName } from '../../../packages/client/src/api.js';
import { readFrames } from '../../../packages/client/src/event-frames.js';
import { backoffMs, pause } from '../../../packages/client/src/http.js';
import { useOrganization } from '../session/organization.js';
import { useSession } from '../session/session-context.js';
import { reportSignedOut } from '../session/signed-out.js';
import { inTurn, type Pool, SHOWN } from './in-turn.js';
import { resultKey, toolKey } from './queries.js';

/** The tools whose answers show what a change is about. */
const SHOWN_BY = {
  run: ['RUN_LIST', 'RUN_GET', 'COLLECTION_THREAD_MESSAGES_LIST', 'WEBHOOK_DELIVERIES_LIST', 'SCHEDULE_LIST'],
  approval: ['RUN_LIST', 'RUN_GET', 'COLLECTION_THREAD_MESSAGES_LIST'],
  thread: ['COLLECTION_THREADS_LIST', 'COLLECTION_THREADS_GET'],
  connection: [
    'COLLECTION_CONNECTIONS_LIST',
    'COLLECTION_CONNECTIONS_GET',
    'COLLECTION_VIRTUAL_MCP_GET',
    'AGENT_VERSIONS_LIST',
  ],
  schedule: ['SCHEDULE_LIST'],
  webhook: ['WEBHOOK_LIST', 'WEBHOOK_DELIVERIES_LIST'],
} as const satisfies Readonly<Record<string, readonly ToolName[]>>;

type Change = keyof typeof SHOWN_BY | 'resync';

const SILENCE_MS = 60_000;
/** What a page has read is as new as a `resync` that comes within this time from its beginning. */
const FRESH_MS = 2_000;
/** Statuses after which another attempt is refused as well. */
const REFUSED = new Set([401, 403, 404]);

/** The streams of all organizations and people that a browser has open. */
const STREAMS: Pool = { name: 'changes', places: 2, claims: SHOWN };
/** Other pages do not have the key of a page, so they do not share its stream. */
const THIS_PAGE = `page ${Math.random()}`;

/**
 * Reads answers again when the service reports a change of what they show. Of all tabs with the same organization and
 * person, the one that came into sight last reads the stream of changes (`GET /api/:org/events`), and passes the
 * changes on to the others.
 */
export function useLiveChanges(): void {
  const { slug, fetch } = useOrganization();
  const { session, credential } = useSession();
  const queries = useQueryClient();
  const caller = credential.kind === 'browser' ? session.user?.id : THIS_PAGE;
  useEffect(() => {
    const closing = new AbortController();
    const { signal } = closing;
    const name = `changes of ${slug} for ${caller}`;

    const refresh = (type: Change): void => {
      // Out of sight, a page reads again when it comes into sight.
      const refetchType = document.visibilityState === 'visible' ? 'active' : 'none';
      const read = (queryKey: readonly unknown[]): void => void queries.invalidateQueries({ queryKey, refetchType });
      if (type === 'resync') return read([slug]);
      for (const tool of SHOWN_BY[type] ?? []) read(toolKey(slug, tool));
      if (type === 'run' || type === 'approval') read(resultKey(slug));
    };

    let channel: BroadcastChannel;
    const listen = (): void => {
      channel = new BroadcastChannel(`signalbox ${name}`);
      channel.addEventListener('message', ({ data }: MessageEvent<Change>) => refresh(data));
    };
    listen();
    // A page with an open channel is not kept for going back to it.
    addEventListener('pagehide', () => channel.close(), { signal });
    addEventListener('pageshow', ({ persisted }) => persisted && listen(), { signal });

    // The first event of a stream is a `resync`. A page that has just been opened has read everything.
    const openedAt = document.visibilityState === 'visible' ? performance.now() : -Infinity;
    const follow = async (held: AbortSignal): Promise<void> => {
      for (let attempt = 1; !held.aborted; attempt++) {
        try {
          const headers = { accept: 'text/event-stream' };
          const response = await fetch(`/api/${slug}/events`, { headers, signal: held });
          if (response.status === 401) reportSignedOut();
          if (REFUSED.has(response.status) || response.body === null) return;
          for await (const { data } of readFrames(response.body, SILENCE_MS)) {
            attempt = 1;
            const { type } = JSON.parse(data) as { type: Change };
            const isKnown = type === 'resync' && performance.now() - openedAt < FRESH_MS;
            if (!isKnown) refresh(type);
            channel.postMessage(type);
          }
        } catch {
          // The connection broke, or another page reads the stream now.
        }
        await pause(backoffMs(attempt), held).catch(() => undefined);
      }
    };
    const lead: Pool = { name, places: 1, claims: SHOWN };
    void inTurn(lead, signal, (leads) => inTurn(STREAMS, leads, follow));
    return () => {
      closing.abort();
      channel.close();
    };
  }, [slug, fetch, caller, queries]);
}
