import { ArrowDown } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { MessageCard } from '../../transcript/message-card.js';
import { type ChatMessage, filesOf, textOf } from '../../transcript/message.js';
import type { useTranscript } from '../../transcript/use-transcript.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy-button.js';
import { cn } from '../../ui/class-names.js';
import { ErrorMessage } from '../../ui/states.js';
import { formatDuration } from '../../ui/time.js';
import { useMedia } from '../../ui/use-media.js';
import { Announcer } from './announcer.js';
import { AnswerTrace, TraceButton, useShownTrace } from './answer-trace.js';
import { CodeButton } from './code-dialog.js';
import { Composer } from './composer.js';
import { EditButton } from './edit-message.js';
import { useRunOptions } from './run-options.js';
import { useStickToEnd } from './use-stick-to-end.js';
import { useThreadChat } from './use-thread-chat.js';
import { useUploads } from './use-uploads.js';

/** Of the box around a chat that has the page for itself: the field for the next message stands at its end. */
export const CHAT_HEIGHT = 'flex min-h-[calc(100dvh-13rem)] min-w-0 flex-col';

/** A trace has room beside the chat. */
const WIDE = '(min-width: 80rem)';

/** A conversation, live. */
export function Chat({
  thread,
  transcript,
  isFocused,
  hasPage = false,
  onThread,
}: {
  readonly thread: ListItem<'COLLECTION_THREADS_LIST'>;
  readonly transcript: ReturnType<typeof useTranscript>;
  /** Puts the focus into the field for the next message. */
  readonly isFocused: boolean;
  /** The chat has the page for itself, so that a trace can stand beside it. */
  readonly hasPage?: boolean;
  /** Gets the id of a thread in which an earlier message was sent again. */
  readonly onThread: (threadId: string) => void;
}) {
  const [text, setText] = useState('');
  const input = useRef<HTMLTextAreaElement>(null);
  const options = useRunOptions();
  const uploads = useUploads();
  const onRefused = (refused: string): void => {
    setText(refused);
    uploads.giveBack();
  };
  const chat = useThreadChat({ thread, transcript, options, onRefused });
  const { messages, isRunning, retry } = chat;
  const trace = useShownTrace();
  const traced = trace.answerOf(messages);
  const isTraceBeside = useMedia(WIDE) && hasPage;
  const root = useRef<HTMLDivElement>(null);
  const { isAtEnd, goToEnd } = useStickToEnd(messages, root);
  useEffect(() => {
    if (isFocused) input.current?.focus({ preventScroll: true });
  }, [isFocused]);

  const send = (): void => {
    setText('');
    goToEnd();
    void chat.send({ text, files: uploads.take() });
  };
  const steer = (interrupt: boolean): void => {
    setText('');
    goToEnd();
    void chat.steer({ text, files: uploads.take() }, interrupt);
  };
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
          isFirst={index === 0 && !transcript.query.hasNextPage}
          options={options}
          onThread={onThread}
        />
      )}
      <TraceButton message={message} isShown={trace.isShown} onToggle={trace.toggle} />
      {message === last && !isRunning && (
        <Button size="small" variant="ghost" onClick={() => chat.regenerate(message.id)}>
          Regenerate
        </Button>
      )}
    </>
  );

  return (
    <div className={cn('min-w-0 grow', traced && isTraceBeside ? 'grid grid-cols-2 gap-5' : 'flex flex-col')}>
      <div ref={root} className="mx-auto flex w-full max-w-4xl min-w-0 grow flex-col gap-4">
        <h2 className="sr-only">Conversation</h2>
        {transcript.query.hasNextPage && (
          <Button
            variant="secondary"
            size="small"
            className="self-center"
            isBusy={transcript.query.isFetchingNextPage}
            onClick={() => void chat.showEarlier()}
          >
            Show earlier messages
          </Button>
        )}
        <ol aria-label="Conversation" className="flex min-w-0 flex-col gap-3">
          {messages.map((message, index) => (
            <li key={message.id} className="min-w-0">
              <MessageCard
                message={message}
                threadId={thread.id}
                isStreaming={isRunning && message === last && message.role === 'assistant'}
                // The buttons with the focus are gone then.
                onAnswered={() => input.current?.focus({ preventScroll: true })}
                actions={actionsOf(message, index)}
              />
            </li>
          ))}
        </ol>
        {chat.isWaiting && <p className="animate-pulse text-sm text-muted-foreground">Waiting for the agent…</p>}
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
              <Button size="small" variant="secondary" onClick={chat.tryAgain}>
                Try again
              </Button>
            )}
          </div>
        )}
        <div className="grow" />
        <Announcer messages={messages} isRunning={isRunning} />
        {!isAtEnd && (
          <Button
            variant="secondary"
            size="small"
            className="sticky bottom-44 z-5 self-center shadow"
            onClick={() => goToEnd()}
          >
            <ArrowDown aria-hidden className="size-3.5" />
            To the end
          </Button>
        )}
        <Composer
          text={text}
          onText={setText}
          uploads={uploads}
          onSend={send}
          onSteer={steer}
          onStop={chat.stop}
          isRunning={isRunning}
          isStopping={chat.isStopping}
          inputRef={input}
          actions={<CodeButton agentId={thread.virtual_mcp_id} threadId={thread.id} text={text} options={options} />}
        />
      </div>
      {traced && <AnswerTrace answer={traced} isBeside={isTraceBeside} onClose={trace.close} />}
    </div>
  );
}
