import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { filesOf, textOf } from '../../transcript/message.js';
import { AnswerTrace, useShownTrace, useTracedAnswer } from './answer-trace.js';
import { Conversation } from './conversation.js';
import type { Draft } from './draft.js';
import type { ThreadOfChat } from './loaded-thread.js';
import { useRunOptions } from './run-options.js';
import { RunSummary } from './run-summary.js';
import { ToEndButton } from './to-end.js';
import { CHAT_PANE, useStickToEnd } from './use-stick-to-end.js';
import { useThreadChat } from './use-thread-chat.js';

/** What the common field does with a chat. */
export interface ChatControl {
  readonly isRunning: boolean;
  readonly isStopping: boolean;
  /** Sends a message, or adds it to the run in progress. */
  readonly say: (draft: Draft, interrupt: boolean) => void;
  readonly stop: () => void;
}

/** A column that scrolls by itself where columns stand side by side. */
export function ColumnPane({ number, children }: { readonly number: number; readonly children: ReactNode }) {
  return (
    <section
      aria-label={`Column ${number}`}
      {...{ [CHAT_PANE]: '' }}
      tabIndex={0}
      className="flex min-w-0 flex-col gap-3 rounded-lg border p-3 lg:overflow-y-auto"
    >
      {children}
    </section>
  );
}

/** The chat of a column. */
export function ColumnChat({
  number,
  thread,
  transcript,
  onControl,
  onThread,
}: ThreadOfChat & {
  readonly number: number;
  /** Gets how the chat is controlled; undefined when it is gone. */
  readonly onControl: (number: number, control: ChatControl | undefined) => void;
  /** Gets the id of a thread in which an earlier message was sent again. */
  readonly onThread: (threadId: string) => void;
}) {
  const options = useRunOptions(number);
  /** The message that the service has refused here, though the other columns may have it. */
  const [refused, setRefused] = useState<Draft>();
  const chat = useThreadChat({
    thread,
    transcript,
    options,
    onRefused: (message) => setRefused({ text: textOf(message), files: filesOf(message) }),
  });
  const root = useRef<HTMLDivElement>(null);
  const { isAtEnd, goToEnd } = useStickToEnd(root);
  const trace = useShownTrace(number);
  const traced = useTracedAnswer(trace, thread, chat);

  const say = (draft: Draft, interrupt: boolean): void => {
    setRefused(undefined);
    goToEnd();
    void (chat.isRunning ? chat.steer(draft, interrupt) : chat.send(draft));
  };
  const current = useRef({ say, stop: chat.stop });
  current.current = { say, stop: chat.stop };
  const { isRunning, isStopping } = chat;
  useLayoutEffect(() => {
    onControl(number, {
      isRunning,
      isStopping,
      say: (draft, interrupt) => current.current.say(draft, interrupt),
      stop: () => current.current.stop(),
    });
    return () => onControl(number, undefined);
  }, [number, isRunning, isStopping, onControl]);

  const last = chat.messages.at(-1);
  return (
    <div ref={root} className="flex min-w-0 flex-col gap-3">
      <Conversation
        thread={thread}
        chat={chat}
        options={options}
        trace={trace}
        onTryAgain={refused === undefined ? chat.tryAgain : () => say(refused, false)}
        onThread={onThread}
      />
      {last?.role === 'assistant' && last.metadata?.taskId && !isRunning && (
        <LastRun key={last.metadata.taskId} runId={last.metadata.taskId} />
      )}
      {/* Where the page scrolls, the common field covers its end. */}
      {!isAtEnd && <ToEndButton className="bottom-44 lg:bottom-1" onClick={goToEnd} />}
      {traced && <AnswerTrace answer={traced} isBeside={false} onClose={trace.close} />}
    </div>
  );
}

/** What the last answer took, for comparing it with those beside it. */
function LastRun({ runId }: { readonly runId: string }) {
  const { may } = useOrganization();
  const { data } = useTool('RUN_GET', { id: runId }, { isEnabled: may('RUN_GET') });
  return data?.item.id === runId ? <RunSummary run={data.item} /> : null;
}
