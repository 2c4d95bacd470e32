import { useParams } from '@tanstack/react-router';
import { useFilters } from '../../api/filters.js';
import { columnsOf } from './columns.js';
import { NewChat } from './new-chat.js';
import { SideBySide } from './side-by-side.js';
import { ThreadChat } from './thread-chat.js';

/**
 * Talks to an agent, or to several side by side. A chat is a thread: its id is in the address from the first message
 * on.
 */
export function PlaygroundView() {
  const { threadId } = useParams({ strict: false });
  const [filters] = useFilters();
  if (threadId !== undefined) return <ThreadChat key={threadId} threadId={threadId} />;
  const columns = columnsOf(filters);
  return columns.length > 1 ? <SideBySide columns={columns} /> : <NewChat />;
}
