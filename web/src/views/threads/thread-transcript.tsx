import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { useOrganization } from '../../session/organization.js';
import { isCopied, textOf } from '../../transcript/message.js';
import { MessageCard } from '../../transcript/message-card.js';
import { useTranscript } from '../../transcript/use-transcript.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy-button.js';
import { CheckboxField } from '../../ui/field.js';
import { NextPageButton } from '../../ui/next-page.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatNumber } from '../../ui/format.js';

/** What was said in a thread, as it is stored. */
export function ThreadTranscript({ thread }: { readonly thread: ListItem<'COLLECTION_THREADS_LIST'> }) {
  const { slug } = useOrganization();
  const [{ replaced }, filter] = useFilters();
  const isInProgress = thread.status === 'in_progress';
  const { query, messages, totalCount = 0 } = useTranscript(thread.id, { isWhole: replaced === '1' });
  return (
    <Section
      title="Transcript"
      actions={
        <CheckboxField
          label="Show replaced answers"
          checked={replaced === '1'}
          onChange={(checked) => filter({ replaced: checked ? '1' : undefined })}
        />
      }
    >
      {query.isError ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : query.isPending ? (
        <Loading label="Loading the transcript" />
      ) : messages.length === 0 ? (
        <EmptyState title="Nothing has been said yet.">
          <Button asChild>
            <Link to="/$org/playground/$threadId" params={{ org: slug, threadId: thread.id }}>
              Write the first message
            </Link>
          </Button>
        </EmptyState>
      ) : (
        <>
          {query.hasNextPage && (
            <div className="flex flex-wrap items-center gap-3 text-sm text-muted-foreground">
              <NextPageButton query={query}>Show earlier messages</NextPageButton>
              The last {formatNumber(messages.length)} of {formatNumber(totalCount)}
            </div>
          )}
          <ol aria-label="Transcript" className="flex min-w-0 flex-col gap-3">
            {messages.map((message) => (
              <li key={message.id} className="min-w-0">
                <MessageCard
                  message={message}
                  threadId={thread.id}
                  userName="User"
                  isCopied={isCopied(message, thread)}
                  isStreaming={isInProgress && message === messages.at(-1)}
                  onAnswered={() => void query.refetch()}
                  actions={textOf(message) !== '' && <CopyButton text={textOf(message)} size="small" variant="ghost" />}
                />
              </li>
            ))}
          </ol>
        </>
      )}
    </Section>
  );
}
