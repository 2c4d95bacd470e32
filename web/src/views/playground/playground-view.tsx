import { useParams } from '@tanstack/react-router';
import { NewChat } from './new-chat.js';
import { ThreadChat } from './thread-chat.js';

/** Talks to an agent. A chat is a thread: its id is in the address once the first message is sent. */
export function PlaygroundView() {
  const { threadId } = useParams({ strict: false });
  return threadId === undefined ? <NewChat /> : <ThreadChat key={threadId} threadId={threadId} />;
}
