import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { allOf, type Condition, equals, useList } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { useOrganization } from '../../session/organization.js';
import { useSession } from '../../session/session-context.js';
import { Section } from '../../ui/page.js';
import { SearchField } from '../../ui/search-field.js';
import { ErrorMessage } from '../../ui/states.js';
import { Time } from '../../ui/time.js';

const SHOWN = 8;

/** The person's own threads, the latest first, and those whose words a search finds. A key has those that it sees. */
export function EarlierChats() {
  const { slug, may } = useOrganization();
  const { session } = useSession();
  const [text, setText] = useState('');
  const words: Condition | undefined =
    text.trim() === '' ? undefined : { field: ['text'], operator: 'matches', value: text.trim() };
  const { query, rows } = useList(
    'COLLECTION_THREADS_LIST',
    {
      where: allOf(equals('created_by', session.user?.id), words),
      orderBy: [{ field: ['updated_at'], direction: 'desc' }],
      limit: SHOWN,
      count_limit: SHOWN,
    },
    { isEnabled: may('COLLECTION_THREADS_LIST') },
  );
  const titleOf = useAgentTitles(rows.map(({ virtual_mcp_id: agentId }) => agentId));
  if (words === undefined && rows.length === 0) return null;
  return (
    <Section title="Earlier chats">
      <SearchField label="Search words of your chats" value={text} onSearch={setText} />
      <ErrorMessage error={query.error} />
      {query.isSuccess && rows.length === 0 && (
        <p className="text-sm text-muted-foreground">No chat has these words.</p>
      )}
      <ul className="flex min-w-0 flex-col">
        {rows.slice(0, SHOWN).map(({ id, title, virtual_mcp_id: agentId, updated_at: at }) => (
          <li key={id} className="flex min-w-0 flex-wrap items-baseline justify-between gap-x-3 border-t py-1.5">
            <Link
              to="/$org/playground/$threadId"
              params={{ org: slug, threadId: id }}
              className="min-w-0 wrap-anywhere text-primary hover:underline"
            >
              {title}
            </Link>
            <span className="text-sm text-muted-foreground">
              {titleOf(agentId)} · <Time value={at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
