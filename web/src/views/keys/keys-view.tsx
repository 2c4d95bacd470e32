import { useFilters } from '../../api/filters.js';
import { contains, useList } from '../../api/queries.js';
import { PermissionSummary } from '../../permissions/permission-summary.js';
import { FilterSearch } from '../../records/filter-fields.js';
import { useOrganization } from '../../session/organization.js';
import { StateBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ListView } from '../../ui/list-view.js';
import { Page } from '../../ui/page.js';
import { EmptyState, NoPermission } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import type { Key } from './key.js';
import { KeyDialogs } from './key-dialogs.js';

/** The API keys of the organization: what each can do, until when, and when it was used last. */
export function KeysView() {
  const { may } = useOrganization();
  const [{ name = '' }, filter] = useFilters();
  const list = useList(
    'API_KEY_LIST',
    {
      where: contains(name, 'name'),
      orderBy: [{ field: ['created_at'], direction: 'desc' }],
    },
    { isEnabled: may('API_KEY_LIST') },
  );
  const createButton = may('API_KEY_CREATE') && <Button onClick={() => filter({ create: '1' })}>Create key</Button>;
  const columns: readonly Column<Key>[] = [
    {
      header: 'Name',
      cell: (key) => (
        <div className="flex flex-col">
          <button
            type="button"
            className="min-w-32 text-left font-medium wrap-anywhere text-primary hover:underline"
            onClick={() => filter({ key: key.id })}
          >
            {key.name}
          </button>
          <code className="text-xs text-muted-foreground">{key.prefix}…</code>
        </div>
      ),
    },
    { header: 'Can', isSecondary: true, cell: (key) => <PermissionSummary permissions={key.permissions} /> },
    { header: 'Last use', isSecondary: true, cell: (key) => <Time value={key.last_used_at} /> },
    { header: 'Expires', cell: (key) => <Expiry value={key.expires_at} /> },
    { header: 'Created', isSecondary: true, cell: (key) => <Time value={key.created_at} /> },
  ];
  return (
    <Page
      title="Keys"
      description="An API key lets a program act in this organization. It can do what its permissions say, and nothing else."
      actions={createButton}
    >
      {may('API_KEY_LIST') ? (
        <>
          <FilterSearch name="name" label="Search by name" />
          <ListView
            label="Keys"
            list={list}
            columns={columns}
            keyOf={(key) => key.id}
            empty={
              <EmptyState title={name === '' ? 'There are no keys yet.' : 'No key matches.'}>
                {name === '' && createButton}
              </EmptyState>
            }
          />
        </>
      ) : (
        <NoPermission />
      )}
      <KeyDialogs />
    </Page>
  );
}

function Expiry({ value }: { readonly value: string | null }) {
  if (value !== null && new Date(value).getTime() <= Date.now())
    return <StateBadge state="blocked">expired</StateBadge>;
  return <Time value={value} />;
}
