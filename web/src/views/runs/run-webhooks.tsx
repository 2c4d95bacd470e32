import { equals, useList } from '../../api/queries.js';
import { deliveryColumns, EVENT_WORDS } from '../../records/delivery-columns.js';
import { useOrganization } from '../../session/organization.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';

const PAGE_SIZE = 10;
/** The others need more room than the list has beside the timeline. */
const HEADERS = new Set(['State', 'Last answer']);

/** What webhooks were told of a run, and how that went; nothing if there was none to tell. */
export function RunWebhooks({ runId }: { readonly runId: string }) {
  const { slug, may } = useOrganization();
  const list = useList(
    'WEBHOOK_DELIVERIES_LIST',
    { where: equals('run_id', runId), limit: PAGE_SIZE },
    { isEnabled: may('WEBHOOK_DELIVERIES_LIST') },
  );
  if (list.rows.length === 0 && !list.query.isError) return null;
  const columns = deliveryColumns(slug).filter(({ header }) => HEADERS.has(header));
  return (
    <Section title="Webhooks">
      <ListView
        label="Webhooks of the run"
        list={list}
        columns={[{ header: 'Told when', cell: ({ event }) => EVENT_WORDS[event] }, ...columns]}
        keyOf={({ id }) => id}
        empty={null}
      />
    </Section>
  );
}
