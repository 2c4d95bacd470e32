import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { allOf, equals, useChange, useList } from '../../api/queries.js';
import { deliveryColumns } from '../../records/delivery-columns.js';
import { FilterSelect } from '../../records/filter-fields.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorMessage } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';

type Delivery = ListItem<'WEBHOOK_DELIVERIES_LIST'>;

const STATUSES = [
  { value: '', label: 'Any state' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'failed', label: 'Failed' },
] as const;

/** What was sent to webhooks in the last 30 days, and how it went. */
export function WebhookDeliveries({ webhooks }: { readonly webhooks: readonly { id: string; url: string }[] }) {
  const { slug, may } = useOrganization();
  const [{ webhook, delivery }] = useFilters();
  const list = useList('WEBHOOK_DELIVERIES_LIST', {
    where: allOf(equals('webhook_id', webhook), equals('status', delivery)),
  });
  const say = useToast();
  const redeliver = useChange('WEBHOOK_REDELIVER', ['WEBHOOK_DELIVERIES_LIST'], () => say('It is being sent again.'));
  const columns: readonly Column<Delivery>[] = [
    ...deliveryColumns(slug),
    {
      header: 'Actions',
      isBelow: true,
      cell: ({ id, status }) =>
        status !== 'pending' &&
        may('WEBHOOK_REDELIVER') && (
          <Button
            variant="secondary"
            size="small"
            isBusy={redeliver.isPending && redeliver.variables.id === id}
            onClick={() => redeliver.mutate({ id })}
          >
            Deliver again
          </Button>
        ),
    },
  ];
  return (
    <Section title="Deliveries">
      <div className="flex flex-wrap gap-3">
        <FilterSelect
          name="webhook"
          label="Webhook"
          className="min-w-48 flex-1"
          options={[
            { value: '', label: 'All webhooks' },
            ...webhooks.map(({ id, url }) => ({ value: id, label: url })),
          ]}
        />
        <FilterSelect name="delivery" label="State" options={STATUSES} />
      </div>
      <ErrorMessage error={redeliver.error} />
      <ListView
        label="Deliveries"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<EmptyState title="Nothing was sent yet. A run that ends makes the first message." />}
      />
    </Section>
  );
}
