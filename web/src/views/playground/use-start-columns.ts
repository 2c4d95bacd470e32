import { useMutation } from '@tanstack/react-query';
import { generateId } from 'ai';
import { useRef, useState } from 'react';
import type { Draft } from './draft.js';
import type { RunOptions } from './run-options.js';
import { useStartChat } from './start-chat.js';

/** A column whose thread is to be created. */
export interface NewColumn {
  readonly number: number;
  readonly agentId: string;
  readonly options: RunOptions;
}

interface Failure {
  readonly draft: Draft;
  readonly error: Error;
}

/** Begins chats side by side with the same message. One that fails stops none of the others. */
export function useStartColumns(onStarted: (threads: ReadonlyMap<number, string>) => void) {
  const { createThread, post } = useStartChat();
  const [failures, setFailures] = useState<ReadonlyMap<number, Failure>>(new Map());
  // A second try after a refusal uses the thread and the message of the first.
  const begun = useRef(new Map<string, { threadId?: string; readonly messageId: string }>());

  const startAll = async ({ draft, columns }: { draft: Draft; columns: readonly NewColumn[] }) => {
    const started = new Map<number, string>();
    const failed = new Map<number, Failure>();
    const begin = async ({ number, agentId, options }: NewColumn): Promise<void> => {
      const key = JSON.stringify([number, agentId, draft]);
      const chat = begun.current.get(key) ?? { messageId: generateId() };
      begun.current.set(key, chat);
      try {
        chat.threadId ??= await createThread(agentId, draft);
        await post({ threadId: chat.threadId, messageId: chat.messageId, agentId, draft, options });
        begun.current.delete(key);
        started.set(number, chat.threadId);
      } catch (error) {
        failed.set(number, { draft, error: error as Error });
      }
    };
    await Promise.all(columns.map(begin));
    const others = [...failures].filter(([number]) => !columns.some((column) => column.number === number));
    setFailures(new Map([...others, ...failed]));
    return started;
  };
  const { mutate, isPending } = useMutation({ mutationFn: startAll, networkMode: 'always' });
  return {
    start: (draft: Draft, columns: readonly NewColumn[]): void =>
      // If the person has left the columns, the address belongs to another view and must not change.
      mutate({ draft, columns }, { onSuccess: onStarted }),
    isStarting: isPending,
    failures,
    /** Forgets the failures, since the columns get other numbers. */
    forget: (): void => setFailures(new Map()),
  };
}
