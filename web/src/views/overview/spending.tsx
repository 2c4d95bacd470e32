import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { Section } from '../../ui/page.js';
import { formatCost, Time } from '../../ui/time.js';

type Window = ToolOutput<'USAGE_STATS'>['spend'][number];

const COLUMNS: readonly Column<Window>[] = [
  { header: 'Limit of', cell: ({ scope, id }) => (scope === 'organization' ? 'the organization' : `${scope} ${id}`) },
  { header: 'Per', cell: ({ period }) => period },
  { header: 'Limit', align: 'right', cell: ({ limit_usd: usd }) => formatCost(usd) },
  { header: 'Used', align: 'right', cell: ({ used_usd: usd }) => formatCost(usd) },
  { header: 'Reserved', align: 'right', isSecondary: true, cell: ({ reserved_usd: usd }) => formatCost(usd) },
  { header: 'Left', align: 'right', cell: ({ left_usd: usd }) => formatCost(usd) },
  { header: 'Begins again', isSecondary: true, cell: ({ ends_at: at }) => <Time value={at} /> },
];

/** What is left of the spending limits; nothing without any. */
export function Spending() {
  const { may } = useOrganization();
  const { data } = useTool('USAGE_STATS', { by: 'day' }, { isEnabled: may('USAGE_STATS'), refreshMs: 30_000 });
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
