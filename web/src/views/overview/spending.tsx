import { Link } from '@tanstack/react-router';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { cn } from '../../ui/class-names.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { Section } from '../../ui/page.js';
import { formatExactCost } from '../../ui/format.js';
import { Time } from '../../ui/time.js';

type Window = ToolOutput<'USAGE_STATS'>['spend'][number];

const COLUMNS: readonly Column<Window>[] = [
  { header: 'Limit of', cell: (window) => <Subject {...window} /> },
  { header: 'Per', cell: ({ period }) => period },
  { header: 'Limit', align: 'right', cell: ({ limit_usd: usd }) => formatExactCost(usd) },
  { header: 'Used', align: 'right', cell: ({ used_usd: usd }) => formatExactCost(usd) },
  { header: 'Share', cell: (window) => <Meter {...window} /> },
  { header: 'Reserved', align: 'right', isSecondary: true, cell: ({ reserved_usd: usd }) => formatExactCost(usd) },
  { header: 'Left', align: 'right', cell: ({ left_usd: usd }) => formatExactCost(usd) },
  { header: 'Begins again', isSecondary: true, cell: ({ ends_at: at }) => <Time value={at} /> },
];

const HOUR_MS = 3_600_000;
/** From this share on, a webhook may tell of it, too (`spend.threshold`). */
const ALMOST = 0.8;

/** How far the spending limits are used; nothing without any. */
export function Spending() {
  const { may } = useOrganization();
  // The windows of the limits come with any range. That of the counts, which are not shown, is short: they are cheap.
  const from = new Date((Math.floor(Date.now() / HOUR_MS) - 1) * HOUR_MS).toISOString();
  const { data } = useTool('USAGE_STATS', { by: 'day', from }, { isEnabled: may('USAGE_STATS'), refreshMs: 30_000 });
  if (data === undefined || data.spend.length === 0) return null;
  return (
    <Section title="Spending limits">
      <DataTable
        label="Spending limits"
        columns={COLUMNS}
        rows={data.spend}
        keyOf={({ scope, id, period }) => `${scope} ${id} ${period}`}
      />
    </Section>
  );
}

/** The used and reserved share of a limit. */
function Meter({ name, id, period, used_usd: used, reserved_usd: reserved, limit_usd: limit }: Window) {
  const share = limit === 0 ? 1 : (used + reserved) / limit;
  const colour = share >= 1 ? 'bg-destructive' : share >= ALMOST ? 'bg-warning' : 'bg-primary';
  const percent = Math.floor(100 * share);
  return (
    <div className="flex min-w-28 items-center gap-2">
      <div
        role="meter"
        aria-label={`Used and reserved of the limit per ${period} of ${name ?? id}`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.min(percent, 100)}
        className="h-2 min-w-12 grow overflow-hidden rounded-full bg-muted"
      >
        <div className={cn('h-2', colour)} style={{ width: `${Math.min(100 * share, 100)}%` }} />
      </div>
      <span className="w-10 text-right tabular-nums">{percent} %</span>
    </div>
  );
}

/** What the limit is of, with a link to where it is set. */
function Subject({ scope, id, name }: Window) {
  const { slug: org } = useOrganization();
  const link = { className: 'wrap-anywhere text-primary underline', children: name ?? id };
  return (
    <>
      {scope} {scope === 'agent' && <Link to="/$org/agents/$agentId" params={{ org, agentId: id }} {...link} />}
      {scope === 'key' && <Link to="/$org/keys" params={{ org }} search={{ key: id } as never} {...link} />}
      {scope === 'person' && <Link to="/$org/settings/$section" params={{ org, section: 'members' }} {...link} />}
      {scope === 'organization' && <Link to="/$org/settings/$section" params={{ org, section: 'limits' }} {...link} />}
    </>
  );
}
