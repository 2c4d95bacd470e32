import { Link, useNavigate } from '@tanstack/react-router';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { type Filters, useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { Page } from '../../ui/page.js';
import { Chat, CHAT_HEIGHT } from './chat.js';
import { searchOf } from './columns.js';
import { LoadedThread } from './loaded-thread.js';

/** A chat whose thread exists: loads what was said, then goes on with it. */
export function ThreadChat({ threadId }: { readonly threadId: string }) {
  const { slug } = useOrganization();
  const navigate = useNavigate();
  const thread = useTool('COLLECTION_THREADS_GET', { id: threadId });
  const item = thread.data?.item;
  const open = (id: string): void =>
    void navigate({ to: '/$org/playground/$threadId', params: { org: slug, threadId: id } });
  const [options] = useFilters();
  const titleOf = useAgentTitles(item === undefined ? [] : [item.virtual_mcp_id]);
  return (
    <Page
      title="Playground"
      description={
        item && (
          <>
            <span className="break-words">{item.title}</span> · with{' '}
            <Link
              to="/$org/agents/$agentId"
              params={{ org: slug, agentId: item.virtual_mcp_id }}
              className="text-primary underline"
            >
              {titleOf(item.virtual_mcp_id)}
            </Link>
          </>
        )
      }
      actions={
        item && (
          <>
            <Button asChild variant="secondary" size="small">
              <Link to="/$org/threads/$threadId" params={{ org: slug, threadId }}>
                Open thread
              </Link>
            </Button>
            <Button asChild variant="secondary" size="small">
              <Link to="/$org/playground" params={{ org: slug }} search={besideItself(item, options)}>
                Add a column
              </Link>
            </Button>
            <Button asChild variant="secondary" size="small">
              <Link to="/$org/playground" params={{ org: slug }} search={{ agent: item.virtual_mcp_id }}>
                New chat
              </Link>
            </Button>
          </>
        )
      }
    >
      <div className={CHAT_HEIGHT}>
        <LoadedThread threadId={threadId}>
          {(loaded) => <Chat {...loaded} isFocused hasPage onThread={open} />}
        </LoadedThread>
      </div>
    </Page>
  );
}

/** The thread, and a column beside it with the same agent. */
function besideItself({ id, virtual_mcp_id: agentId }: ListItem<'COLLECTION_THREADS_LIST'>, options: Filters): Filters {
  const { tier, temperature } = options;
  return searchOf([{ agentId, threadId: id, tier, temperature }, { agentId }]);
}
