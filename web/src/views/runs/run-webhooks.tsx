import { equals, useList } from '../../api/queries.js';
import { DELIVERY_STATE, EVENT_WORDS, LAST_ANSWER } from '../../records/delivery-columns.js';
import { useOrganization } from '../../session/organization.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';

const PAGE_SIZE = 10;

/** What webhooks were told of a run, and how that went; nothing if there was none to tell. */
export function RunWebhooks({ runId }: { readonly runId: string }) {
  const { may } = useOrganization();
  const list = useList(
    'WEBHOOK_DELIVERIES_LIST',
    { where: equals('run_id', runId), limit: PAGE_SIZE },
    { isEnabled: may('WEBHOOK_DELIVERIES_LIST') },
  );
  if (list.rows.length === 0 && !list.query.isError) return null;
  return (
    <Section title="Webhooks">
      <ListView
        label="Webhooks of the run"
        list={list}
        columns={[{ header: 'Told when', cell: ({ event }) => EVENT_WORDS[event] }, DELIVERY_STATE, LAST_ANSWER]}
        keyOf={({ id }) => id}
        empty={null}
      />
    </Section>
  );
}
