import { useEffect, useRef, useState } from 'react';
import { type ChatMessage, filesOf, textOf } from '../../transcript/message.js';
import { cn } from '../../ui/class-names.js';
import { useMedia } from '../../ui/use-media.js';
import { AnswerTrace, useShownTrace, useTracedAnswer } from './answer-trace.js';
import { CodeButton } from './code-dialog.js';
import { Composer } from './composer.js';
import { Conversation } from './conversation.js';
import type { ThreadOfChat } from './loaded-thread.js';
import { RunOptionsButton, useRunOptions } from './run-options.js';
import { ToEndButton } from './to-end.js';
import { useCallableTools } from './use-callable-tools.js';
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
}: ThreadOfChat & {
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
  const callableTools = useCallableTools([{ agentId: thread.virtual_mcp_id, options }], text);
  const onRefused = (refused: ChatMessage): void => {
    // Something else may have been written since.
    setText((written) => [textOf(refused), written].filter((part) => part !== '').join('\n'));
    uploads.giveBack(filesOf(refused));
  };
  const chat = useThreadChat({ thread, transcript, options, onRefused });
  const { isRunning } = chat;
  const trace = useShownTrace();
  const traced = useTracedAnswer(trace, thread, chat);
  const isTraceBeside = useMedia(WIDE) && hasPage;
  const root = useRef<HTMLDivElement>(null);
  const { isAtEnd, goToEnd } = useStickToEnd(root);
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
  return (
    <div className={cn('min-w-0 grow', traced && isTraceBeside ? 'grid grid-cols-2 gap-5' : 'flex flex-col')}>
      <div ref={root} className="mx-auto flex w-full max-w-4xl min-w-0 grow flex-col gap-4">
        <Conversation
          thread={thread}
          chat={chat}
          options={options}
          trace={trace}
          // The buttons with the focus are gone then.
          onAnswered={() => input.current?.focus({ preventScroll: true })}
          onThread={onThread}
        />
        <div className="grow" />
        {!isAtEnd && <ToEndButton className="bottom-44" onClick={goToEnd} />}
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
          callableTools={callableTools}
          actions={
            <>
              <RunOptionsButton />
              <CodeButton agentId={thread.virtual_mcp_id} threadId={thread.id} text={text} options={options} />
            </>
          }
        />
      </div>
      {traced && <AnswerTrace answer={traced} isBeside={isTraceBeside} onClose={trace.close} />}
    </div>
  );
}
