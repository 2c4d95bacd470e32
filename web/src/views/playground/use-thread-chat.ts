import { useChat } from '@ai-sdk/react';
import { useQueryClient } from '@tanstack/react-query';
import { generateId } from 'ai';
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { SignalboxError } from '../../../../packages/client/src/signalbox-error.js';
import { toolKey } from '../../api/queries.js';
import type { Pause } from '../../api/turns.js';
import { useOrganization } from '../../session/organization.js';
import type { ChatMessage, Retry } from '../../transcript/message.js';
import type { useTranscript } from '../../transcript/use-transcript.js';
import { readNextPage } from '../../ui/next-page.js';
import { ThreadTransport } from './chat-transport.js';
import { type Draft, partsOf } from './draft.js';
import type { RunOptions } from './run-options.js';
import { runRequestOf } from './run-request.js';

/** Changes of the text are shown at most this often while it streams. */
const THROTTLE_MS = 50;
/** How long the note about a retry stays after the retry was made. */
const RETRY_NOTE_MS = 1500;
/** What a run changes. */
const CHANGED = ['COLLECTION_THREADS_GET', 'COLLECTION_THREADS_LIST', 'RUN_LIST', 'RUN_GET'] as const;

/** A message for the run in progress. */
interface SentSteer {
  readonly message: ChatMessage;
  /** The service has it. */
  readonly isAccepted: boolean;
}

/** The answer that the service has been asked to replace, until it has accepted that. */
interface Replacement {
  readonly messageId: string;
  /** Asking again with it runs nothing twice. */
  readonly idempotencyKey: string;
  /** What the chat shows if the service does not accept it. */
  readonly messages: ChatMessage[];
}

interface ThreadChatOptions {
  readonly thread: ListItem<'COLLECTION_THREADS_LIST'>;
  readonly transcript: ReturnType<typeof useTranscript>;
  readonly options: RunOptions;
  /** Called with a message that the service has refused. */
  readonly onRefused: (message: ChatMessage) => void;
}

/**
 * The chat of a thread: its messages, and what can be done with them. It starts with the loaded transcript and takes up
 * the run that is in progress, if there is one.
 */
export function useThreadChat({ thread, transcript, options, onRefused }: ThreadChatOptions) {
  const organization = useOrganization();
  const { client, slug } = organization;
  const queries = useQueryClient();
  const [retry, setRetry] = useState<Retry>();
  const [stopping, setStopping] = useState<{ readonly isBusy: boolean; readonly error?: Error }>({ isBusy: false });
  /** Stop was pressed: a message that the service accepts only now has a run that is to be stopped, too. */
  const mustStop = useRef(false);
  const [pause, setPause] = useState<Pause>();
  /** The message that is being sent, until the service has accepted it. */
  const sending = useRef<ChatMessage>(undefined);
  const [replacement, setReplacement] = useState<Replacement>();
  /** What was sent to the run in progress; the answer shows it once it has heard it. */
  const [steers, setSteers] = useState<readonly SentSteer[]>([]);
  const [steerError, setSteerError] = useState<Error>();
  const [isFollowing, setFollowing] = useState(false);
  /** The transcript can show what a run has said so far before its stream is found. */
  const [isResuming, setResuming] = useState(thread.status === 'in_progress');
  const setMessages = useRef<ReturnType<typeof useChat<ChatMessage>>['setMessages']>(undefined);
  /** Cancels one run, or all of the thread. The stream ends with the run. */
  const cancel = useCallback(
    (taskId?: string): void => {
      client.cancel(thread.id, taskId === undefined ? {} : { taskId }).catch((error: Error) => {
        setStopping({ isBusy: false, error });
      });
    },
    [client, thread.id],
  );
  const endStop = useCallback((): void => {
    mustStop.current = false;
    setStopping({ isBusy: false });
  }, []);

  const reload = useCallback(
    async (unheard: readonly ChatMessage[] = []): Promise<void> => {
      const { data, isError } = await transcript.query.refetch();
      setMessages.current?.((shown) => {
        const messages = data === undefined || isError ? shown : transcript.toMessages(data);
        // The stream of a run can end a moment before the transcript has what follows.
        const missing = unheard.filter(
          ({ id }) => !messages.some((message) => message.id === id || hears(message, id)),
        );
        return [...messages, ...missing];
      });
    },
    [transcript],
  );

  const transport = useMemo(
    () =>
      new ThreadTransport({
        organization,
        agentId: thread.virtual_mcp_id,
        options,
        onAccepted: (taskId) => {
          sending.current = undefined;
          setReplacement(undefined);
          if (mustStop.current) cancel(taskId);
        },
        onPaused: setPause,
        // The run has ended after the transcript was read.
        onIdle: async () => {
          if (thread.status === 'in_progress') await reload();
          setResuming(false);
          endStop();
        },
      }),
    [organization, thread.virtual_mcp_id, thread.status, options, reload, cancel, endStop],
  );

  const chat = useChat<ChatMessage>({
    id: thread.id,
    messages: transcript.messages,
    transport,
    resume: true,
    throttle: THROTTLE_MS,
    onData: (part) => {
      if (part.type !== 'data-retry') return;
      setRetry(part.data);
      setTimeout(() => setRetry(undefined), part.data.delay_ms + RETRY_NOTE_MS);
    },
    onFinish: () => {
      setResuming(false);
      setRetry(undefined);
      setPause(undefined);
      endStop();
      for (const name of CHANGED) void queries.invalidateQueries({ queryKey: toolKey(slug, name) });
    },
    onError: (error) => {
      setResuming(false);
      endStop();
      if (replacement !== undefined) return setMessages.current?.(replacement.messages);
      // The run has ended long ago, while other tabs were read.
      if (error instanceof SignalboxError && error.code === 'stream_expired') return void catchUp();
      const message = sending.current;
      if (!(error instanceof SignalboxError) || message === undefined) return;
      // The service has not stored it, so it is not part of the conversation.
      sending.current = undefined;
      setMessages.current?.(chat.messages.filter(({ id }) => id !== message.id));
      onRefused(message);
    },
  });
  setMessages.current = chat.setMessages;
  const isReading = chat.status === 'submitted' || chat.status === 'streaming';

  const catchUp = async (): Promise<void> => {
    await reload();
    chat.clearError();
  };

  /** Ends the search for a run in progress first: with its end, the chat would pass for idle while it is asked. */
  const ask = async (request: () => Promise<void>): Promise<void> => {
    endStop();
    await chat.stop();
    await request();
  };

  const send = (draft: Draft): Promise<void> => {
    const message: ChatMessage = { id: generateId(), role: 'user', parts: partsOf(draft) };
    setReplacement(undefined);
    return ask(() => {
      sending.current = message;
      return chat.sendMessage(message);
    });
  };

  const regenerate = (messageId: string, idempotencyKey: string = generateId()): Promise<void> => {
    setReplacement({ messageId, idempotencyKey, messages: chat.messages });
    return ask(() => chat.regenerate({ messageId, headers: { 'idempotency-key': idempotencyKey } }));
  };

  /** Adds a message to the run in progress. @param interrupt ends its current step first */
  const steer = async (draft: Draft, interrupt: boolean): Promise<void> => {
    const message: ChatMessage = { id: generateId(), role: 'user', parts: partsOf(draft) };
    const { messages, agent } = runRequestOf({
      messageId: message.id,
      parts: message.parts,
      agentId: thread.virtual_mcp_id,
      options,
    });
    setSteerError(undefined);
    setSteers((sent) => [...sent, { message, isAccepted: false }]);
    try {
      await client.steer(thread.id, { messages, agent }, { interrupt, idempotencyKey: message.id });
      setSteers((sent) => sent.map((steer) => (steer.message === message ? { message, isAccepted: true } : steer)));
    } catch (error) {
      setSteers((sent) => sent.filter((steer) => steer.message !== message));
      setSteerError(error as Error);
      onRefused(message);
    }
  };

  /** The run has ended: what it has not taken is a run of its own, which can have ended before its stream is read. */
  const followSteers = useEffectEvent(async (): Promise<void> => {
    setFollowing(true);
    const accepted = steers.filter(({ isAccepted }) => isAccepted);
    await reload(accepted.map(({ message }) => message));
    setSteers((sent) => sent.filter((steer) => !accepted.includes(steer)));
    await chat.resumeStream();
    await reload();
    endStop();
    setFollowing(false);
  });
  const mustFollow = !isReading && !isFollowing && !isResuming && steers.some(({ isAccepted }) => isAccepted);
  useEffect(() => {
    if (mustFollow) void followSteers();
  }, [mustFollow]);

  const stop = (): void => {
    mustStop.current = true;
    setStopping({ isBusy: true });
    cancel(chat.messages.at(-1)?.role === 'assistant' ? chat.messages.at(-1)?.metadata?.taskId : undefined);
  };

  /** After a lost connection: asks the same again, which runs nothing twice, or reads the answer on. */
  const tryAgain = (): void => {
    const last = chat.messages.at(-1);
    if (replacement !== undefined) void regenerate(replacement.messageId, replacement.idempotencyKey);
    else if (last?.role === 'user') void ask(() => chat.sendMessage({ ...last, messageId: last.id }));
    else void chat.resumeStream();
  };

  /** @param isEnough reads on until the messages fulfil it; one more page without it */
  const showEarlier = async (isEnough: (messages: readonly ChatMessage[]) => boolean = () => true): Promise<void> => {
    let read = await readNextPage(transcript.query);
    const earlier = (): ChatMessage[] => (read.data === undefined ? [] : transcript.toMessages(read.data));
    while (!read.isError && read.hasNextPage && !isEnough(earlier())) read = await readNextPage(read);
    chat.setMessages((shown) => {
      const ids = new Set(shown.map(({ id }) => id));
      return [...earlier().filter(({ id }) => !ids.has(id)), ...shown];
    });
  };

  const hasRunFailed = replacement === undefined && chat.messages.at(-1)?.metadata?.error !== undefined;
  return {
    messages: chat.messages,
    /** There are messages before those that are shown. */
    hasEarlier: transcript.query.hasNextPage,
    isLoadingEarlier: transcript.query.isFetchingNextPage,
    earlierError: transcript.query.isFetchNextPageError ? transcript.query.error : undefined,
    isRunning: isReading || isFollowing || isResuming,
    isWaiting: chat.status === 'submitted',
    /** Why a request failed; the failure of a run is in its message. */
    error: hasRunFailed ? undefined : (stopping.error ?? steerError ?? chat.error),
    retry,
    /** Why the answer is not read at present. */
    pause,
    isStopping: stopping.isBusy,
    /** What waits for the run to take it. */
    waiting: steers.map(({ message }) => message).filter(({ id }) => !isHeard(id, chat.messages)),
    send,
    steer,
    stop,
    tryAgain,
    showEarlier,
    regenerate: (messageId: string): void => void regenerate(messageId),
  };
}

function isHeard(messageId: string, messages: readonly ChatMessage[]): boolean {
  const last = messages.at(-1);
  return last !== undefined && hears(last, messageId);
}

function hears({ parts }: ChatMessage, messageId: string): boolean {
  return parts.some((part) => part.type === 'data-steer' && part.data.messageId === messageId);
}
