import { useList } from '../../api/queries.js';
import { runColumns } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';

const PAGE_SIZE = 10;
/** The others need more room than the list has beside the transcript. */
const HEADERS = new Set(['Run', 'Status', 'Duration']);

/** The runs of a thread, newest first. */
export function ThreadRuns({ threadId }: { readonly threadId: string }) {
  const { slug, may } = useOrganization();
  const list = useList(
    'RUN_LIST',
    {
      where: { field: ['thread_id'], operator: 'eq', value: threadId },
      orderBy: [{ field: ['created_at'], direction: 'desc' }],
      limit: PAGE_SIZE,
    },
    { isEnabled: may('RUN_LIST') },
  );
  return (
    <Section title="Runs">
      {may('RUN_LIST') ? (
        <ListView
          label="Runs of the thread"
          list={list}
          columns={runColumns({ org: slug }).filter(({ header }) => HEADERS.has(header))}
          keyOf={(run) => run.id}
          empty={<p className="text-sm text-muted-foreground">Nothing has run in this thread.</p>}
        />
      ) : (
        <p className="text-sm text-muted-foreground">Your role or key does not include RUN_LIST.</p>
      )}
    </Section>
  );
}
