import { useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { usePeriod } from '../../charts/period.js';
import { Ranking } from '../../charts/ranking.js';
import { useChoicesById } from '../../pick/choices.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { formatNumber } from '../../ui/time.js';

const SHOWN = 20;

/** Runs and tokens by the key that asked for them. */
export function UseByKey() {
  const { from } = usePeriod();
  const [, filter] = useFilters();
  const { data, error, refetch } = useTool('USAGE_STATS', { from, by: 'key' });
  const groups = data?.groups.slice(0, SHOWN) ?? [];
  const keys = useChoicesById(
    'key',
    groups.flatMap(({ group }) => group ?? []),
  );
  return (
    <Section title="Runs and tokens by key">
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data && groups.length === 0 && <EmptyState title="No agent ran in this period." />}
      {groups.length > 0 && (
        <Ranking
          label="Runs and tokens by key"
          rows={groups}
          keyOf={({ group }) => group ?? ''}
          nameHeader="Key"
          name={({ group }) =>
            group === null ? (
              'People in the console, schedules and OAuth clients'
            ) : (
              <button
                type="button"
                className="text-left break-all text-primary hover:underline"
                onClick={() => filter({ tab: undefined, key: group })}
              >
                {keys.get(group)?.label ?? group}
              </button>
            )
          }
          valueHeader="Runs"
          value={({ runs }) => runs}
          formatValue={formatNumber}
          columns={[
            { header: 'Failed', align: 'right', cell: ({ failed }) => formatNumber(failed) },
            { header: 'Tokens', align: 'right', cell: ({ total_tokens: tokens }) => formatNumber(tokens) },
          ]}
        />
      )}
    </Section>
  );
}
