import { Link } from '@tanstack/react-router';
import type { ListItem } from '../../../packages/client/src/api.js';
import { StatusBadge } from '../ui/badge.js';
import type { Column } from '../ui/data-table.js';
import { Time } from '../ui/time.js';

type Delivery = ListItem<'WEBHOOK_DELIVERIES_LIST'>;

/** When webhooks are told, in words. */
export const EVENT_WORDS: Readonly<Record<Delivery['event'], string>> = {
  'run.completed': 'a run completes',
  'run.failed': 'a run fails',
  'run.cancelled': 'a run is cancelled',
  'approval.requested': 'a tool call waits for an approval',
  'spend.threshold': 'a spending limit is nearly or fully used',
  'tools.changed': 'a pinned connection lists changed or new tools',
};

export const DELIVERY_STATE: Column<Delivery> = {
  header: 'State',
  cell: ({ status }) => <StatusBadge status={status} />,
};

export const LAST_ANSWER: Column<Delivery> = {
  header: 'Last answer',
  isSecondary: true,
  cell: ({ last_status: status, last_error: error }) => (
    <span className="break-words">{error ?? status ?? 'none yet'}</span>
  ),
};

/** The columns of a list of what was sent to webhooks. */
export function deliveryColumns(org: string): readonly Column<Delivery>[] {
  return [
    {
      header: 'Event',
      cell: ({ event, run_id: runId }) =>
        runId === null ? (
          EVENT_WORDS[event]
        ) : (
          <Link to="/$org/runs/$runId" params={{ org, runId }} className="text-primary hover:underline">
            {EVENT_WORDS[event]}
          </Link>
        ),
    },
    DELIVERY_STATE,
    { header: 'Tries', isSecondary: true, align: 'right', cell: ({ attempts }) => attempts },
    LAST_ANSWER,
    {
      header: 'Next try',
      isSecondary: true,
      cell: ({ next_try_at: at }) => <Time value={at} ifNull="–" />,
    },
    { header: 'Created', cell: ({ created_at: at }) => <Time value={at} /> },
  ];
}
