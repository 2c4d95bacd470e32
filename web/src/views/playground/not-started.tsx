import { useMutation } from '@tanstack/react-query';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { ErrorMessage } from '../../ui/states.js';
import type { Column } from './columns.js';
import type { useStartColumns } from './use-start-columns.js';

type Failure = NonNullable<ReturnType<ReturnType<typeof useStartColumns>['failures']['get']>>;

/** A column without a thread: what its chat begins with, and why its first message was refused. */
export function NotStarted({
  failure,
  isBusy,
  onSendAgain,
  first,
  agentId,
  onCopied,
}: {
  readonly failure: Failure | undefined;
  readonly isBusy: boolean;
  readonly onSendAgain: (draft: Failure['draft']) => void;
  /** The first column, if this is another one. */
  readonly first: Column | undefined;
  readonly agentId: string;
  /** Gets the id of a thread with the messages of the first column. */
  readonly onCopied: (threadId: string) => void;
}) {
  const { client, may } = useOrganization();
  const copy = useMutation({
    mutationFn: async (id: string) => (await client.tool('THREAD_COPY', { id })).item.id,
  });
  if (failure !== undefined) {
    return (
      <div className="flex flex-col items-start gap-2 rounded-md border border-destructive/50 p-3">
        <ErrorMessage error={failure.error} />
        <Button size="small" variant="secondary" isBusy={isBusy} onClick={() => onSendAgain(failure.draft)}>
          Send again here
        </Button>
      </div>
    );
  }
  const earlier = first?.threadId;
  if (earlier === undefined) {
    return <p className="text-sm text-muted-foreground">The chat begins with your next message.</p>;
  }
  const isSameAgent = first?.agentId === agentId;
  return (
    <div className="flex flex-col items-start gap-2 text-sm text-muted-foreground">
      <p>
        The chat begins with your next message, without the messages of column 1.
        {!isSameAgent && ' Those can be copied for the same agent only.'}
      </p>
      {isSameAgent && may('THREAD_COPY') && (
        <Button
          size="small"
          variant="secondary"
          isBusy={copy.isPending}
          disabled={isBusy}
          // Not once a message has begun the chat: the callbacks of `mutate` end with the button.
          onClick={() => copy.mutate(earlier, { onSuccess: onCopied })}
        >
          Copy the messages of column 1
        </Button>
      )}
      <ErrorMessage error={copy.error} />
    </div>
  );
}
