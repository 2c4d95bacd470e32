import { Link } from '@tanstack/react-router';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { type Column, DataTable } from '../../ui/data-table.js';
import { Section } from '../../ui/page.js';
import { formatExactCost, Time } from '../../ui/time.js';

type Window = ToolOutput<'USAGE_STATS'>['spend'][number];

const COLUMNS: readonly Column<Window>[] = [
  { header: 'Limit of', cell: (window) => <Subject {...window} /> },
  { header: 'Per', cell: ({ period }) => period },
  { header: 'Limit', align: 'right', cell: ({ limit_usd: usd }) => formatExactCost(usd) },
  { header: 'Used', align: 'right', cell: ({ used_usd: usd }) => formatExactCost(usd) },
  { header: 'Reserved', align: 'right', isSecondary: true, cell: ({ reserved_usd: usd }) => formatExactCost(usd) },
  { header: 'Left', align: 'right', cell: ({ left_usd: usd }) => formatExactCost(usd) },
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
