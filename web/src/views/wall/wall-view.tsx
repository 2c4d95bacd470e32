import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { CallsOverTime } from '../../charts/calls-over-time.js';
import { rangeOf, usePeriod } from '../../charts/period.js';
import { useOrganization } from '../../session/organization.js';
import { useServiceAway } from '../../session/reachability.js';
import { useThemeOfView } from '../../shell/theme.js';
import { cn } from '../../ui/class-names.js';
import { STATES, StateShape } from '../../ui/state.js';
import { ErrorMessage } from '../../ui/states.js';
import { formatCost, formatDuration, formatNumber } from '../../ui/format.js';
import { conditionOf } from './condition.js';
import { WallRuns } from './wall-runs.js';

const REFRESH_MS = 15_000;
/** What figures leave of the screen. */
const CHART = 'h-[220px] lg:h-[max(220px,28dvh)]';
const CLOCK = new Intl.DateTimeFormat('en', { timeStyle: 'medium' });
const DAY_AND_CLOCK = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/**
 * What runs and what fails, in large figures without navigation, for a screen on the wall: the last hour, or another
 * period in the address. Dark unless the address says `?theme=light`. It reads again by itself, says how old its
 * figures are, and keeps them while the service is away.
 */
export function WallView() {
  const { slug, name, may } = useOrganization();
  const [{ theme }] = useFilters();
  useThemeOfView(theme === 'light' ? 'light' : 'dark');
  const shown = usePeriod('1h');
  const range = rangeOf(shown);
  const runs = useTool('RUN_STATS', range, { isEnabled: may('RUN_STATS'), refreshMs: REFRESH_MS });
  const calls = useTool(
    'MONITORING_STATS',
    { ...range, include_management: false, over_time: true },
    { isEnabled: may('MONITORING_STATS'), refreshMs: REFRESH_MS },
  );
  const isAway = useServiceAway();
  const readAt = Math.min(useReadAt(runs.data?.to), useReadAt(calls.data?.to));
  const condition = conditionOf({ isAway, runs: runs.data?.total, waiting: runs.data?.waiting_approvals });
  useEffect(() => {
    document.title = `${condition.words} · ${name} · Signalbox`;
  }, [condition.words, name]);
  return (
    <main className="flex min-h-dvh min-w-0 flex-col gap-6 p-4 lg:p-8 min-[2000px]:gap-10 min-[2000px]:p-12">
      <header className="flex min-w-0 flex-wrap items-center justify-between gap-4">
        <h1 className="min-w-0 text-2xl font-semibold wrap-anywhere lg:text-4xl min-[2000px]:text-6xl">{name}</h1>
        <p className="text-right text-muted-foreground lg:text-xl min-[2000px]:text-3xl">
          {shown.period.label}
          <Age readAt={readAt} isAway={isAway} />
        </p>
      </header>
      {(may('RUN_STATS') || isAway) && (
        <p
          role="status"
          className={cn(
            'flex items-center gap-4 rounded-lg p-4 text-3xl font-semibold lg:text-6xl min-[2000px]:gap-8 min-[2000px]:p-8 min-[2000px]:text-8xl',
            STATES[condition.state].colour,
          )}
        >
          <StateShape state={condition.state} className="size-8 lg:size-14 min-[2000px]:size-24" />
          {condition.words}
        </p>
      )}
      {!isAway && <ErrorMessage error={runs.error ?? calls.error} />}
      {!may('RUN_STATS') && !may('MONITORING_STATS') && (
        <p>You need the permission RUN_STATS or MONITORING_STATS to see figures here.</p>
      )}
      <dl className="grid grid-cols-2 gap-4 lg:grid-cols-4 min-[2000px]:gap-8">
        {runs.data && (
          <>
            <Figure label="Runs under way" value={formatNumber(runs.data.total.queued + runs.data.total.running)} />
            <Figure label="Completed" value={formatNumber(runs.data.total.completed)} />
            <Figure label="Failed" value={formatNumber(runs.data.total.failed)} isBad={runs.data.total.failed > 0} />
            <Figure
              label="Cost"
              value={runs.data.total.cost_usd === null ? '–' : formatCost(runs.data.total.cost_usd)}
            />
          </>
        )}
        {calls.data && (
          <>
            <Figure label="Tool calls" value={formatNumber(calls.data.total.calls)} />
            <Figure
              label="Errors of calls"
              value={`${(100 * calls.data.total.error_rate).toFixed(1)} %`}
              isBad={calls.data.total.error_rate > 0.05}
            />
            <Figure label="Denied calls" value={formatNumber(calls.data.total.denied)} />
            <Figure
              label="95 of 100 calls took at most"
              value={calls.data.total.latency_ms === null ? '–' : formatDuration(calls.data.total.latency_ms.p95)}
            />
          </>
        )}
      </dl>
      <div className="grid min-w-0 grid-cols-1 gap-6 lg:grid-cols-2 min-[2000px]:gap-10">
        {calls.data && calls.data.total.calls > 0 && <CallsOverTime stats={calls.data} height={CHART} />}
        {runs.data && <WallRuns failures={runs.data.failures} />}
      </div>
      <footer className="mt-auto text-muted-foreground">
        <Link to="/$org/overview" params={{ org: slug }} className="underline">
          Back to the overview
        </Link>
      </footer>
    </main>
  );
}

function Figure({
  label,
  value,
  isBad = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly isBad?: boolean;
}) {
  return (
    <div className="flex min-w-0 flex-col rounded-lg border bg-card p-4 min-[2000px]:gap-2 min-[2000px]:p-8">
      <dt className="text-sm text-muted-foreground lg:text-lg min-[2000px]:text-3xl">{label}</dt>
      <dd
        className={cn(
          'text-3xl font-semibold wrap-anywhere tabular-nums lg:text-5xl min-[2000px]:text-8xl',
          isBad && 'text-destructive',
        )}
      >
        {isBad && <span aria-hidden>▲ </span>}
        {value}
      </dd>
    </div>
  );
}

/**
 * When an answer came, in milliseconds since 1970; `Infinity` for none. While that of another range is read, the one
 * before is shown. @param to the end of the range of the answer that is shown
 */
function useReadAt(to: string | undefined): number {
  return useMemo(() => (to === undefined ? Infinity : Date.now()), [to]);
}

/** When the oldest of the figures were read. @param readAt milliseconds since 1970; `Infinity` for never */
function Age({ readAt, isAway }: { readonly readAt: number; readonly isAway: boolean }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="block tabular-nums">
      {CLOCK.format(now)}
      {Number.isFinite(readAt) &&
        (isAway
          ? ` · figures of ${DAY_AND_CLOCK.format(readAt)}`
          : ` · read ${Math.max(0, Math.round((now - readAt) / 1_000))} s ago`)}
    </span>
  );
}
