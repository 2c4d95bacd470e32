import { FilterSearch } from '../../records/filter-fields.js';
import { FoundFilters } from '../../records/found-filters.js';
import { useOrganization } from '../../session/organization.js';

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'in_progress', label: 'In progress' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
];

export function ThreadFilters() {
  const { may } = useOrganization();
  const search = may('COLLECTION_THREAD_MESSAGES_LIST') ? (
    <FilterSearch name="q" label="Search titles and messages" />
  ) : (
    <FilterSearch name="title" label="Search by title" />
  );
  return <FoundFilters search={search} statuses={STATUSES} />;
}
