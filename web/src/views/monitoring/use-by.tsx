import { Link } from '@tanstack/react-router';
import { useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { rangeOf, usePeriod } from '../../charts/period.js';
import { Ranking, restOf } from '../../charts/ranking.js';
import { useChoicesById } from '../../pick/choices.js';
import { FilterSelect } from '../../records/filter-fields.js';
import { useOrganization } from '../../session/organization.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatExactCost, formatNumber } from '../../ui/format.js';

const SHOWN = 20;

/** What costs are counted by; `none` names the runs without one. */
const GROUPINGS = [
  { value: 'key', label: 'Key', none: 'People in the console, schedules and OAuth clients' },
  { value: 'agent', label: 'Agent', none: 'Without an agent' },
  { value: 'model', label: 'Model', none: 'No model has answered yet' },
  { value: 'person', label: 'Person', none: 'Keys of the organization' },
] as const;
const SUMS = ['runs', 'failed', 'total_tokens', 'cost_usd', 'unpriced_runs'] as const;
type Grouping = (typeof GROUPINGS)[number];

/** Costs, runs and tokens by agent, model, key or person. */
export function UseBy() {
  const shown = usePeriod();
  const [{ use }] = useFilters();
  const grouping = GROUPINGS.find(({ value }) => value === use) ?? GROUPINGS[0];
  const { data, error, refetch } = useTool('USAGE_STATS', { ...rangeOf(shown), by: grouping.value });
  const groups = data?.by === grouping.value ? data.groups.slice(0, SHOWN) : undefined;
  const total = data?.total;
  const nameOf = useNames(grouping, groups?.flatMap(({ group }) => group ?? []) ?? []);
  const rows = (groups ?? []).map(({ group, ...counts }) => ({
    id: group ?? '',
    name: group === null ? grouping.none : <Name id={group} kind={grouping.value} name={nameOf(group)} />,
    counts,
  }));
  const rest =
    total === undefined || data === undefined || (data.groups.length === rows.length && !data.truncated)
      ? undefined
      : { id: ' rest', name: 'All others', counts: restOf(total, rows, SUMS, {}) };
  return (
    <Section
      title="Costs, runs and tokens"
      actions={<FilterSelect name="use" label="Costs by" isLabelHidden options={GROUPINGS} fallback="key" />}
    >
      {error && !groups && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !groups && <Loading />}
      {groups?.length === 0 && <EmptyState title="No agent ran in this period." />}
      {total !== undefined && rows.length > 0 && (
        <Ranking
          label="Costs, runs and tokens"
          rows={rows}
          rest={rest}
          total={total}
          nameHeader={grouping.label}
          valueHeader="Tokens"
          value={({ total_tokens: tokens }) => tokens}
          formatValue={formatNumber}
          columns={[
            {
              header: 'Cost',
              align: 'right',
              cell: ({ cost_usd: cost }) => (cost === null ? '–' : formatExactCost(cost)),
            },
            { header: 'Runs', align: 'right', cell: ({ runs }) => formatNumber(runs) },
            { header: 'Failed', align: 'right', isSecondary: true, cell: ({ failed }) => formatNumber(failed) },
            {
              header: 'Without a price',
              align: 'right',
              isSecondary: true,
              cell: ({ unpriced_runs: runs }) => formatNumber(runs),
            },
          ]}
        />
      )}
    </Section>
  );
}

/** Names of ids; a model is its own name. */
function useNames({ value }: Grouping, ids: readonly string[]): (id: string) => string {
  const choices = useChoicesById(value === 'model' ? 'key' : value, value === 'model' ? [] : ids);
  return (id) => choices.get(id)?.label ?? id;
}

/** Leads to what there is to see of an agent, or to the calls of a key or a person. */
function Name({ id, kind, name }: { readonly id: string; readonly kind: Grouping['value']; readonly name: string }) {
  const { slug } = useOrganization();
  const [, filter] = useFilters();
  const className = 'text-left break-all text-primary hover:underline';
  if (kind === 'model') return <span className="break-all">{name}</span>;
  if (kind === 'agent')
    return (
      <Link to="/$org/agents/$agentId" params={{ org: slug, agentId: id }} className={className}>
        {name}
      </Link>
    );
  return (
    <button type="button" className={className} onClick={() => filter({ tab: undefined, [kind]: id })}>
      {name}
    </button>
  );
}
