import { type ReactNode, useMemo } from 'react';
import { useTool } from '../api/queries.js';
import { weekAgo } from '../charts/lengths.js';
import { useOrganization } from '../session/organization.js';
import type { Column } from '../ui/data-table.js';
import { formatNumber } from '../ui/format.js';
import { Time } from '../ui/time.js';

const REFRESH_MS = 60_000;
/** So many groups the service counts in one request. */
const MAX_GROUPS = 1_000;

/**
 * How much the listed connections or agents were called in the last week: one request for all rows, or for the last of
 * many.
 */
export function useCallColumns<Row extends { readonly id: string }>(
  grouping: 'connection' | 'agent',
  rows: readonly Row[],
): readonly Column<Row>[] {
  const { may } = useOrganization();
  // From a full hour, so that the request stays the same while the list is looked at.
  const from = useMemo(weekAgo, []);
  const mayRead = may('MONITORING_STATS');
  const ids = rows.slice(-MAX_GROUPS).map(({ id }) => id);
  const { data } = useTool(
    'MONITORING_STATS',
    { from, group_by: grouping, groups: ids.toSorted() },
    { isEnabled: mayRead && rows.length > 0, refreshMs: REFRESH_MS },
  );
  if (!mayRead) return [];
  const groups = new Map(data?.groups.map((group) => [group.group, group]));
  const figure = (id: string, show: (group: NonNullable<typeof data>['groups'][number]) => ReactNode) => {
    const group = groups.get(id);
    return group === undefined ? <span className="text-muted-foreground">–</span> : show(group);
  };
  return [
    {
      header: 'Calls, 7 days',
      isSecondary: true,
      align: 'right',
      cell: ({ id }) => figure(id, ({ calls }) => formatNumber(calls)),
    },
    {
      header: 'Errors',
      isSecondary: true,
      align: 'right',
      cell: ({ id }) =>
        figure(id, ({ error_rate: rate }) => (
          <span className={rate > 0 ? 'font-medium text-destructive' : ''}>{formatRate(rate)}</span>
        )),
    },
    { header: 'Last call', isSecondary: true, cell: ({ id }) => figure(id, ({ last_at: at }) => <Time value={at} />) },
  ];
}

/** `0 %`, `0.4 %`, `12 %`. */
function formatRate(rate: number): string {
  const percent = rate * 100;
  return `${percent > 0 && percent < 10 ? Math.max(percent, 0.1).toFixed(1) : Math.round(percent)} %`;
}
