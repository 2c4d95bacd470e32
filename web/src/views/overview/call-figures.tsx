import { Link } from '@tanstack/react-router';
import { useTool } from '../../api/queries.js';
import { CallsOverTime } from '../../charts/calls-over-time.js';
import { DurationsOverTime } from '../../charts/durations-over-time.js';
import { changeInWords, rangeOf, usePeriod } from '../../charts/period.js';
import { StatTile } from '../../charts/stat-tile.js';
import { useOrganization } from '../../session/organization.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatDuration, formatNumber } from '../../ui/format.js';

/** Calls of tools: how many, how many failed, how long they took. */
export function CallFigures() {
  const { may } = useOrganization();
  if (!may('MONITORING_STATS')) return null;
  return <Figures />;
}

function Figures() {
  const { slug } = useOrganization();
  const shown = usePeriod();
  const { from, to, before, period } = shown;
  const {
    data: stats,
    error,
    refetch,
  } = useTool(
    'MONITORING_STATS',
    { ...rangeOf(shown), include_management: false, over_time: true },
    { refreshMs: 30_000 },
  );
  const { data: earlier } = useTool('MONITORING_STATS', { from: before, to: from, include_management: false });
  // Both can still be those of another period.
  const past = stats?.from === from && earlier?.to === from ? earlier.total : undefined;
  if (error && !stats) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!stats) return <Loading label="Loading the statistics of calls" />;
  const { total } = stats;
  const latency = total.latency_ms;
  const duration = (value: number | undefined): string => (value === undefined ? '–' : formatDuration(value));
  return (
    <>
      <dl className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
        <StatTile
          label="Tool calls"
          value={formatNumber(total.calls)}
          note={changeInWords(total.calls, past?.calls) || (to === undefined && period.label.toLowerCase())}
        />
        <StatTile
          label="Errors"
          value={`${(total.error_rate * 100).toFixed(total.error_rate > 0 && total.error_rate < 0.1 ? 1 : 0)} %`}
          note={`${formatNumber(total.errors)} of ${formatNumber(total.calls - total.denied)} not denied`}
          isBad={total.error_rate > 0.05}
        />
        <StatTile label="Denied" value={formatNumber(total.denied)} note="refused for lack of permission" />
        <StatTile label="p50" value={duration(latency?.p50)} note="half of the calls were faster" />
        <StatTile label="p95" value={duration(latency?.p95)} note="95 of 100 were faster" />
        <StatTile label="p99" value={duration(latency?.p99)} note="99 of 100 were faster" />
      </dl>
      <div className="grid min-w-0 grid-cols-1 gap-4 lg:grid-cols-2">
        <Section
          title="Calls over time"
          actions={
            <Link
              to="/$org/monitoring"
              params={{ org: slug }}
              search={{ tab: 'statistics', period: period.value, ...(to !== undefined && { from, to }) } as never}
              className="text-sm text-primary underline"
            >
              By connection and tool
            </Link>
          }
        >
          {total.calls === 0 ? (
            <EmptyState title="No tool was called in this period." />
          ) : (
            <CallsOverTime stats={stats} />
          )}
        </Section>
        {latency !== null && (
          <Section title="Duration of calls over time">
            <DurationsOverTime
              label="Duration of calls over time"
              range={stats}
              steps={stats.over_time.map(({ at, latency_ms: percentiles }) => ({ at, percentiles }))}
            />
          </Section>
        )}
      </div>
    </>
  );
}
