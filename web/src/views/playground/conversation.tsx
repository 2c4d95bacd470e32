import type { ListItem } from '../../../../packages/client/src/api.js';
import { MessageCard } from '../../transcript/message-card.js';
import { type ChatMessage, filesOf, isCopied, textOf } from '../../transcript/message.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy-button.js';
import { ErrorMessage } from '../../ui/states.js';
import { formatDuration } from '../../ui/format.js';
import { Announcer } from './announcer.js';
import { TraceButton, type useShownTrace } from './answer-trace.js';
import { EditButton } from './edit-message.js';
import { Entry } from './entry.js';
import type { RunOptions } from './run-options.js';
import type { useThreadChat } from './use-thread-chat.js';

/** What was said in a chat, and how its run goes. */
export function Conversation({
  thread,
  chat,
  options,
  trace,
  onTryAgain = chat.tryAgain,
  onAnswered,
  onThread,
}: {
  readonly thread: ListItem<'COLLECTION_THREADS_LIST'>;
  readonly chat: ReturnType<typeof useThreadChat>;
  readonly options: RunOptions;
  readonly trace: ReturnType<typeof useShownTrace>;
  /** Called after a request that failed. */
  readonly onTryAgain?: () => void;
  /** Called when an approval was answered. */
  readonly onAnswered?: (() => void) | undefined;
  /** Gets the id of a thread in which an earlier message was sent again. */
  readonly onThread: (threadId: string) => void;
}) {
  const { messages, isRunning, retry } = chat;
  const last = messages.at(-1);
  const actionsOf = (message: ChatMessage, index: number) => (
    <>
      {textOf(message) !== '' && <CopyButton text={textOf(message)} size="small" variant="ghost" />}
      {message.role === 'user' && (
        <EditButton
          thread={thread}
          text={textOf(message)}
          files={filesOf(message)}
          previousId={messages[index - 1]?.id}
          isFirst={index === 0 && !chat.hasEarlier}
          options={options}
          onThread={onThread}
        />
      )}
      <TraceButton message={message} trace={trace} />
      {message === last && !isRunning && (
        <Button size="small" variant="ghost" onClick={() => chat.regenerate(message.id)}>
          Regenerate
        </Button>
      )}
    </>
  );

  return (
    <>
      <h2 className="sr-only">Conversation</h2>
      {chat.hasEarlier && (
        <Button
          variant="secondary"
          size="small"
          className="self-center"
          isBusy={chat.isLoadingEarlier}
          onClick={() => void chat.showEarlier()}
        >
          Show earlier messages
        </Button>
      )}
      <ErrorMessage error={chat.earlierError} />
      <ol aria-label="Conversation" className="flex min-w-0 flex-col gap-3">
        {messages.map((message, index) => (
          <Entry key={message.id} message={message}>
            <MessageCard
              message={message}
              threadId={thread.id}
              isCopied={isCopied(message, thread)}
              isStreaming={isRunning && message === last && message.role === 'assistant'}
              onAnswered={onAnswered}
              actions={actionsOf(message, index)}
            />
          </Entry>
        ))}
      </ol>
      {chat.isWaiting && chat.pause === undefined && (
        <p className="text-sm text-muted-foreground">Waiting for the agent…</p>
      )}
      {chat.waiting.map((message) => (
        <p key={message.id} role="status" className="rounded-md border border-dashed p-3 text-sm">
          Waits for the end of the current step: {textOf(message)}
        </p>
      ))}
      {chat.pause === 'tabs' && (
        <p role="status" className="max-w-none rounded-md border p-3 text-sm">
          Paused, because you use other tabs of the console. Click anywhere to go on.
        </p>
      )}
      {chat.pause === 'turn' && (
        <p className="max-w-none rounded-md border border-dashed p-3 text-sm">
          Waits for its turn: two answers are read at a time.
        </p>
      )}
      {retry && (
        <p role="status" className="rounded-md border border-warning/50 p-3 text-sm">
          The model did not answer: {retry.message} Call {retry.attempt} of {retry.max_attempts} follows in{' '}
          {formatDuration(retry.delay_ms)}.
        </p>
      )}
      {chat.error && (
        <div className="flex flex-col items-start gap-2 rounded-md border border-destructive/50 p-3">
          <ErrorMessage error={chat.error} />
          {!isRunning && (
            <Button size="small" variant="secondary" onClick={onTryAgain}>
              Try again
            </Button>
          )}
        </div>
      )}
      <Announcer messages={messages} isRunning={isRunning} />
    </>
  );
}
