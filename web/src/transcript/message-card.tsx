import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useOrganization } from '../session/organization.js';
import { cn } from '../ui/class-names.js';
import { formatNumber } from '../ui/format.js';
import type { ChatMessage } from './message.js';
import { MessageParts } from './message-parts.js';

const NAMES: Readonly<Record<ChatMessage['role'], string>> = { user: 'You', assistant: 'Agent', system: 'System' };

/** One message of a conversation, with the facts of its run and what can be done with it. */
export function MessageCard({
  message,
  threadId,
  isStreaming = false,
  userName,
  onAnswered,
  isOfRunView = false,
  isCopied = false,
  actions,
}: {
  readonly message: ChatMessage;
  readonly threadId: string;
  /** More of the answer is coming. */
  readonly isStreaming?: boolean;
  /** Who wrote the messages of the user; by default "You". */
  readonly userName?: string;
  /** Called when an approval was answered. */
  readonly onAnswered?: (() => void) | undefined;
  /** The view shows the run and its error itself. */
  readonly isOfRunView?: boolean;
  /** The answer was copied from another thread, to which its run belongs. */
  readonly isCopied?: boolean;
  readonly actions?: ReactNode;
}) {
  const { role, metadata } = message;
  const name = role === 'user' ? (userName ?? NAMES.user) : NAMES[role];
  return (
    <article
      aria-label={name}
      className={cn(
        'flex min-w-0 flex-col gap-2 rounded-lg border p-3 sm:p-4',
        role === 'assistant' ? 'bg-card' : 'bg-accent/40',
        metadata?.superseded_by && 'opacity-80',
      )}
    >
      <header className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <p className="text-[0.8125rem] font-semibold text-muted-foreground">
          {name}
          {metadata?.superseded_by && <span className="font-normal"> · replaced by a later answer</span>}
        </p>
        {actions && <div className="flex flex-wrap gap-1">{actions}</div>}
      </header>
      <MessageParts message={message} threadId={threadId} isStreaming={isStreaming} onAnswered={onAnswered} />
      {metadata?.aborted && <p className="text-sm text-muted-foreground">Stopped before the answer was complete.</p>}
      {metadata?.error && !isOfRunView && <Failure message={metadata.error.message} code={metadata.error.code} />}
      {role === 'assistant' && !isStreaming && !isOfRunView && <RunFacts metadata={metadata} isCopied={isCopied} />}
    </article>
  );
}

/** Why a run failed. */
function Failure({ message, code }: { readonly message: string; readonly code?: string }) {
  return (
    <div className="rounded-md border border-destructive/50 p-3 text-sm">
      <p className="font-medium text-destructive">The run failed.</p>
      <p className="break-words">{message}</p>
      {code && <p className="text-muted-foreground">Code {code}</p>}
    </div>
  );
}

function RunFacts({ metadata, isCopied }: { readonly metadata: ChatMessage['metadata']; readonly isCopied: boolean }) {
  const { slug } = useOrganization();
  const { taskId, model, usage } = metadata ?? {};
  if (taskId === undefined) return null;
  return (
    <footer className="flex flex-wrap gap-x-3 gap-y-0.5 text-xs text-muted-foreground">
      {model && <span>{model}</span>}
      {usage && usage.totalTokens > 0 && (
        <span>
          {formatNumber(usage.inputTokens)} tokens in, {formatNumber(usage.outputTokens)} out
        </span>
      )}
      {isCopied && <span>Copied from another chat, with its run</span>}
      <Link
        to="/$org/runs/$runId"
        params={{ org: slug, runId: taskId }}
        className="text-primary underline"
        aria-label={`Open run ${taskId}`}
      >
        Run
      </Link>
    </footer>
  );
}
