'use client';

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { type KeyboardEvent, useMemo, useState } from 'react';
import { answerApproval, cancelRuns, type SignalboxChat, signalboxChat } from '../lib/signalbox-chat';
import { ToolCall } from './tool-call';

interface ChatProps {
  chat: SignalboxChat;
  threadId: string;
  messages: UIMessage[];
}

/** A chat with the agent. A run that is in progress when the page loads is resumed. */
export function Chat({ chat, threadId, messages: stored }: ChatProps) {
  const transport = useMemo(() => new DefaultChatTransport(signalboxChat(chat)), [chat]);
  const { messages, status, error, sendMessage, regenerate, stop, addToolApprovalResponse } = useChat({
    id: threadId,
    messages: stored,
    transport,
    resume: true,
  });
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<string>();
  const isBusy = status === 'submitted' || status === 'streaming';

  const attempt = (work: Promise<unknown>) => {
    setFailure(undefined);
    work.catch((reason: Error) => setFailure(reason.message));
  };
  const send = () => {
    if (text.trim() === '' || isBusy) return;
    attempt(sendMessage({ text }));
    setText('');
  };
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  const answer = async (id: string, approved: boolean) => {
    await answerApproval(chat, threadId, id, { approved });
    await addToolApprovalResponse({ id, approved });
  };

  return (
    <main>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          <strong>{message.role === 'user' ? 'You' : 'Agent'}</strong>
          {message.parts.map((part, index) => {
            if (part.type === 'text') return <p key={index}>{part.text}</p>;
            if (part.type !== 'dynamic-tool') return null;
            return <ToolCall key={part.toolCallId} part={part} onAnswer={(...given) => attempt(answer(...given))} />;
          })}
        </article>
      ))}
      <p role="status">{status}</p>
      {(error ?? failure) !== undefined && <p role="alert">{error?.message ?? failure}</p>}
      <textarea
        aria-label="Message"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={sendOnEnter}
      />
      <p>
        <button type="button" disabled={isBusy} onClick={send}>
          Send
        </button>
        {isBusy ? (
          <button type="button" onClick={() => attempt(Promise.all([stop(), cancelRuns(chat, threadId)]))}>
            Stop
          </button>
        ) : (
          <button type="button" disabled={messages.length === 0} onClick={() => attempt(regenerate())}>
            Regenerate
          </button>
        )}
      </p>
    </main>
  );
}
