import { AgentPicker } from '../../records/agent-picker.js';
import { MoreFilters, NamedSearch, OrderField } from '../../records/found-filters.js';
import { TIME_OPTIONS } from '../../records/time-filter.js';
import type { Filters } from '../../api/filters.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { SelectField } from '../../ui/field.js';

interface FilterProps {
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
}

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
export function QuickFilters({ filters, onFilter }: FilterProps) {
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
            onClick={() => onFilter(isOn ? { status: undefined, ...ANY_TIME } : wanted)}
          >
            {label}
          </Button>
        );
      })}
    </div>
  );
}

export function RunFilters({ filters, onFilter }: FilterProps) {
  const { may } = useOrganization();
  return (
    <div role="group" aria-label="Filters" className="flex flex-wrap items-end gap-2 sm:gap-3">
      {may('COLLECTION_THREAD_MESSAGES_LIST') && (
        <NamedSearch name="q" label="Search questions" value={filters['q'] ?? ''} onFilter={onFilter} />
      )}
      <SelectField
        label="Status"
        isLabelHidden
        value={filters['status'] ?? ''}
        options={STATUSES}
        onChange={(status) => onFilter({ status })}
      />
      <SelectField
        label="Time"
        isLabelHidden
        value={filters['since'] ?? ''}
        options={TIME_OPTIONS}
        onChange={(since) => onFilter({ since, from: undefined, to: undefined })}
      />
      <AgentPicker value={filters['agent'] ?? ''} anyLabel="Any agent" onChange={(agent) => onFilter({ agent })} />
      <OrderField filters={filters} onFilter={onFilter} />
      <MoreFilters filters={filters} onFilter={onFilter} names={['id', 'attempts']}>
        <NamedSearch name="id" label="Find by ID of a run or thread" value={filters['id'] ?? ''} onFilter={onFilter} />
        <SelectField
          label="Attempts"
          isLabelHidden
          value={filters['attempts'] ?? ''}
          options={ATTEMPTS}
          onChange={(attempts) => onFilter({ attempts })}
        />
      </MoreFilters>
    </div>
  );
}
