import { Link } from '@tanstack/react-router';
import type { RunDetails } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { StatusBadge } from '../../ui/badge.js';
import { formatCost, formatDuration, formatNumber } from '../../ui/format.js';

/** How a run went, in a line: its state, and what it took. */
export function RunSummary({ run }: { readonly run: RunDetails }) {
  const { slug } = useOrganization();
  const facts = [
    run.usage !== null && `${formatNumber(run.usage.totalTokens)} tokens`,
    run.cost_usd !== null && formatCost(run.cost_usd),
    run.duration_ms !== null && formatDuration(run.duration_ms),
  ];
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
      <StatusBadge status={run.status} />
      {facts.map((fact) => fact && <span key={fact}>{fact}</span>)}
      <Link to="/$org/runs/$runId" params={{ org: slug, runId: run.id }} className="text-primary underline">
        Open the run
      </Link>
    </p>
  );
}
