import { useEffect, useRef, useState } from 'react';
import { type ChatMessage, textOf } from '../../transcript/message.js';

const MAX_LENGTH = 400;

/** Tells screen readers when an answer begins, asks something, and is complete: once each, not for every word. */
export function Announcer({
  messages,
  isRunning,
}: {
  readonly messages: readonly ChatMessage[];
  readonly isRunning: boolean;
}) {
  const [said, setSaid] = useState('');
  const wasRunning = useRef(false);
  const last = messages.at(-1);
  const asked = last?.parts.flatMap((part) =>
    part.type === 'dynamic-tool' && part.state === 'approval-requested' ? [part.toolName] : [],
  );
  const question = isRunning && asked?.length ? `The agent asks for approval to call ${asked.join(', ')}.` : '';
  useEffect(() => {
    if (question !== '') setSaid(question);
  }, [question]);
  useEffect(() => {
    if (isRunning === wasRunning.current) return;
    wasRunning.current = isRunning;
    setSaid(isRunning ? 'The agent is answering.' : outcomeOf(last));
  }, [isRunning, last]);
  return (
    <p role="status" aria-live="polite" className="sr-only">
      {said}
    </p>
  );
}

function outcomeOf(message: ChatMessage | undefined): string {
  if (message?.role !== 'assistant') return '';
  const { error, aborted } = message.metadata ?? {};
  if (error) return `The run failed: ${error.message}`;
  if (aborted) return 'The answer was stopped.';
  const text = textOf(message);
  return `The agent answered: ${text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text}`;
}
