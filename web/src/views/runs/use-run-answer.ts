import { useQuery } from '@tanstack/react-query';
import { resultKey } from '../../api/queries.js';
import { isOpen, type RunDetails } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { type ChatMessage, isOver as isAnswerOver, toChatMessage } from '../../transcript/message.js';
import { useLiveRun } from './use-live-run.js';

/** The answer of a run: as it is written, and as it was stored. */
export function useRunAnswer(run: RunDetails) {
  const { slug, client } = useOrganization();
  const result = useQuery({
    queryKey: resultKey(slug, run.id),
    queryFn: ({ signal }) => client.result(run.id, { signal }),
  });
  const live = useLiveRun(run);
  const stored = result.data?.message;
  const message = isOpen(run)
    ? (live.message ?? (stored ? toChatMessage(stored) : undefined))
    : finalOf(stored, live.message);
  return { message, result, retries: live.retries };
}

/** The stored answer; until it is read again after the end, the one that was streamed. */
function finalOf(stored: Parameters<typeof toChatMessage>[0] | null | undefined, live: ChatMessage | undefined) {
  const message = stored ? toChatMessage(stored) : undefined;
  return message !== undefined && isAnswerOver(message) ? message : (live ?? message);
}
