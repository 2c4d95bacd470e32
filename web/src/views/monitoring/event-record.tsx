import { useList } from '../../api/queries.js';
import { JsonBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { Facts } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { actorOf } from './audit-events.js';
import { eventInWords } from './event-words.js';

/** One audit event, in a dialog. @param id undefined for none */
export function EventRecord({ id, onClose }: { readonly id: string | undefined; readonly onClose: () => void }) {
  return (
    <Dialog title="Audit event" isOpen={id !== undefined} onClose={onClose}>
      {id !== undefined && <Stored id={id} />}
    </Dialog>
  );
}

function Stored({ id }: { readonly id: string }) {
  const { query, rows } = useList('AUDIT_EVENTS_LIST', {
    where: { field: ['id'], operator: 'eq', value: id },
    limit: 1,
  });
  const [event] = rows;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending || query.isPlaceholderData) return <Loading />;
  if (event === undefined) return <EmptyState title="There is no event with this id." />;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Facts
        items={[
          ['Event', `${eventInWords(event.event)} (${event.event})`],
          ['By', actorOf(event)],
          ['From', event.source ?? 'the service'],
          event.target !== null && ['About', `${event.target.type} ${event.target.name ?? event.target.id ?? ''}`],
          ['When', <Time key="when" value={event.at} />],
        ]}
      />
      {event.changes !== null && (
        <>
          <h3 className="font-medium">What changed</h3>
          <JsonBlock value={event.changes} label="What changed" />
        </>
      )}
    </div>
  );
}
