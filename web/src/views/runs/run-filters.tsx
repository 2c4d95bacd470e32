import { type Filters, useFilters } from '../../api/filters.js';
import { FilterSearch, FilterSelect } from '../../records/filter-fields.js';
import { FoundFilters } from '../../records/found-filters.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'open', label: 'Not over' },
  { value: 'queued', label: 'Queued' },
  { value: 'running', label: 'Running' },
  { value: 'waiting', label: 'Waiting for approval' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
];
const ATTEMPTS = [
  { value: '', label: 'Any number of attempts' },
  { value: 'several', label: 'More than one attempt' },
];
const ANY_TIME: Filters = { since: undefined, from: undefined, to: undefined };
const QUICK: readonly { readonly label: string; readonly filters: Filters }[] = [
  { label: 'Failed in the last 24 hours', filters: { status: 'failed', ...ANY_TIME, since: '24h' } },
  { label: 'Waiting for approval', filters: { status: 'waiting', ...ANY_TIME } },
  { label: 'Not over', filters: { status: 'open', ...ANY_TIME } },
];

/** The questions that are asked most, one click each. Pressed again, they ask nothing. */
export function QuickFilters() {
  const [filters, filter] = useFilters();
  return (
    <div
      role="group"
      aria-label="Quick filters"
      className="scrolling-row flex min-w-0 gap-2 overflow-x-auto p-0.5 -m-0.5"
    >
      {QUICK.map(({ label, filters: wanted }) => {
        const isOn = Object.entries(wanted).every(([name, value]) => filters[name] === value);
        return (
          <Button
            key={label}
            size="small"
            variant="secondary"
            aria-pressed={isOn}
            className="aria-pressed:border-primary aria-pressed:bg-accent aria-pressed:text-accent-foreground"
            onClick={() => filter(isOn ? { status: undefined, ...ANY_TIME } : wanted)}
          >
            {label}
          </Button>
        );
      })}
    </div>
  );
}

export function RunFilters() {
  const { may } = useOrganization();
  return (
    <FoundFilters
      search={may('COLLECTION_THREAD_MESSAGES_LIST') && <FilterSearch name="q" label="Search questions" />}
      statuses={STATUSES}
      names={['id', 'attempts']}
    >
      <FilterSearch name="id" label="Find by ID of a run or thread" />
      <FilterSelect name="attempts" label="Attempts" isLabelHidden options={ATTEMPTS} />
    </FoundFilters>
  );
}
