import { Brain } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../ui/button.js';
import { CodeBlock, JsonBlock } from '../ui/code-block.js';
import { Markdown } from '../ui/markdown.js';
import { formatNumber } from '../ui/format.js';
import { FilePart } from './file-part.js';
import type { ChatMessage, MessagePart } from './message.js';
import { ToolCard } from './tool-card.js';

/** Of a longer message, the end is shown first: a run can make thousands of calls. */
const SHOWN_PARTS = 100;

/** What a message says and does, in its order: text, reasoning, tool calls, files. */
export function MessageParts({
  message,
  threadId,
  isStreaming,
  onAnswered,
}: {
  readonly message: ChatMessage;
  readonly threadId: string;
  readonly isStreaming: boolean;
  readonly onAnswered?: (() => void) | undefined;
}) {
  const [isWhole, setWhole] = useState(false);
  const last = message.parts.length - 1;
  const first = isWhole ? 0 : firstShown(message.parts);
  const output = message.metadata?.output;
  // The text of the last step is the output.
  const lastStep = output === undefined ? Infinity : message.parts.findLastIndex(({ type }) => type === 'step-start');
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {first > 0 && (
        <Button variant="secondary" className="self-start" onClick={() => setWhole(true)}>
          Show {formatNumber(first)} earlier parts
        </Button>
      )}
      {message.parts.map((part, index) =>
        index < first || (part.type === 'text' && index > lastStep) ? null : (
          <Part
            // Parts only grow at the end, so their places identify them.
            key={part.type === 'dynamic-tool' ? part.toolCallId : `${index} ${part.type}`}
            part={part}
            role={message.role}
            taskId={message.metadata?.taskId}
            threadId={threadId}
            isLive={isStreaming}
            isGrowing={isStreaming && index === last}
            onAnswered={onAnswered}
          />
        ),
      )}
      {output !== undefined && <JsonBlock value={output} label="Output" />}
    </div>
  );
}

/** The place of the first part that is shown. What waits for an approval always is. */
function firstShown(parts: readonly MessagePart[]): number {
  const asked = parts.findIndex((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested');
  const start = Math.max(0, parts.length - SHOWN_PARTS);
  return asked === -1 ? start : Math.min(start, asked);
}

function Part({
  part,
  role,
  taskId,
  threadId,
  isLive,
  isGrowing,
  onAnswered,
}: {
  readonly part: MessagePart;
  readonly role: ChatMessage['role'];
  readonly taskId: string | undefined;
  readonly threadId: string;
  readonly isLive: boolean;
  readonly isGrowing: boolean;
  readonly onAnswered?: (() => void) | undefined;
}) {
  switch (part.type) {
    case 'text':
      if (part.text === '') return null;
      // What people write is shown as they wrote it.
      return role === 'assistant' ? (
        <Markdown text={part.text} isStreaming={isGrowing} />
      ) : (
        <p className="break-words whitespace-pre-wrap">{part.text}</p>
      );
    case 'reasoning':
      return part.text === '' ? null : <Reasoning text={part.text} isGrowing={isGrowing} />;
    case 'dynamic-tool':
      return <ToolCard part={part} taskId={taskId} threadId={threadId} isLive={isLive} onAnswered={onAnswered} />;
    case 'source-url':
      return <Markdown text={`Source: <${part.url}>`} />;
    case 'data-steer':
      return <Heard text={part.data.text} isInterruption={part.data.interrupted} />;
    case 'file':
      return <FilePart file={part} />;
    default:
      return null;
  }
}

/** A message of the user that the answer heard at this place. */
function Heard({ text, isInterruption }: { readonly text: string; readonly isInterruption: boolean }) {
  return (
    <section aria-label="You" className="rounded-md border-l-4 border-primary/60 bg-accent/40 px-3 py-2">
      <p className="text-[0.8125rem] font-semibold text-muted-foreground">
        You{isInterruption && <span className="font-normal"> · interrupted</span>}
      </p>
      <p className="break-words whitespace-pre-wrap">{text}</p>
    </section>
  );
}

/** What the model thought before it answered; open while it thinks. */
function Reasoning({ text, isGrowing }: { readonly text: string; readonly isGrowing: boolean }) {
  return (
    <details open={isGrowing} className="rounded-md border border-dashed px-3 py-2 text-sm">
      <summary className="cursor-pointer text-muted-foreground">
        <Brain aria-hidden className="mr-1.5 inline size-4" />
        {isGrowing ? 'Thinking' : 'Reasoning'}
      </summary>
      <div className="pt-2">
        {isGrowing ? <Markdown text={text} isStreaming /> : <CodeBlock text={text} label="Reasoning" />}
      </div>
    </details>
  );
}
