import { StateBadge, StatusBadge } from '../../ui/badge.js';
import { Time } from '../../ui/time.js';
import type { Connection } from './form/connection-draft.js';

/**
 * The status of a connection, and since when it has it. An active one that nothing has reached yet is not known to
 * work.
 */
export function ConnectionStatus({
  connection: { status, status_since: since, tools_refreshed_at: listed },
}: {
  readonly connection: Connection;
}) {
  if (status === 'active' && listed === null) return <StateBadge state="waiting">not tested yet</StateBadge>;
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <StatusBadge status={status} />
      {since !== null && (
        <span className="text-[0.8125rem] font-normal text-muted-foreground">
          changed <Time value={since} />
        </span>
      )}
    </span>
  );
}
