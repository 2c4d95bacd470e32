import { useState } from 'react';
import { useFilters } from '../../api/filters.js';
import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { cn } from '../../ui/class-names.js';
import { FirstMessage } from '../playground/new-chat.js';
import { Chat } from '../playground/chat.js';
import { LoadedThread } from '../playground/loaded-thread.js';
import { CHAT_PANE } from '../playground/use-stick-to-end.js';
import { AgentSettings } from './agent-settings.js';
import type { Agent } from './form/agent-draft.js';
import { AGENT_FORM } from './form/agent-form.js';
import type { DefinitionTokens } from './form/tool-mode-section.js';

/** The agent's settings, and a chat in which each change can be tried at once. */
export function AgentWorkbench({ agent, tokens }: { readonly agent: Agent; readonly tokens: DefinitionTokens }) {
  const { may } = useOrganization();
  const [isChanged, setIsChanged] = useState(false);
  const update = useChange('COLLECTION_VIRTUAL_MCP_UPDATE', [
    'COLLECTION_VIRTUAL_MCP_GET',
    'COLLECTION_VIRTUAL_MCP_LIST',
    'COLLECTION_CONNECTIONS_LIST',
    'AGENT_VERSIONS_LIST',
  ]);
  const mayChat = may('COLLECTION_THREADS_CREATE');
  return (
    <div className={cn('grid min-w-0 grid-cols-1 items-start gap-4', mayChat && 'xl:grid-cols-2')}>
      <AgentSettings agent={agent} tokens={tokens} update={update} isChanged={isChanged} onChanged={setIsChanged} />
      {mayChat && <Trial agent={agent} isChanged={isChanged} isSaving={update.isPending} />}
    </div>
  );
}

/** A chat with the agent as it is stored. Its thread is in the address; a thread of another agent is not shown. */
function Trial({
  agent,
  isChanged,
  isSaving,
}: {
  readonly agent: Agent;
  /** The settings differ from the agent. */
  readonly isChanged: boolean;
  readonly isSaving: boolean;
}) {
  const [{ thread: wanted = '' }, filter] = useFilters();
  // The chat that was opened here gets the focus; one of the address would take it from the form.
  const [opened, setOpened] = useState('');
  const found = useTool('COLLECTION_THREADS_GET', { id: wanted }, { isEnabled: wanted !== '' }).data?.item;
  const isOfOther = found?.id === wanted && found.virtual_mcp_id !== agent.id;
  const thread = isOfOther ? '' : wanted;
  const open = (id: string): void => {
    setOpened(id);
    filter({ thread: id });
  };
  return (
    <section
      aria-label="Try it"
      {...{ [CHAT_PANE]: '' }}
      tabIndex={0}
      className="flex min-w-0 flex-col gap-3 rounded-lg border bg-background px-4 pt-4 xl:sticky xl:top-16 xl:max-h-[calc(100dvh-14rem)] xl:overflow-y-auto"
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="font-semibold">Try it</h2>
        {thread !== '' && (
          <Button size="small" variant="secondary" onClick={() => filter({ thread: '' })}>
            New chat
          </Button>
        )}
      </div>
      {isChanged && (
        <div
          role="status"
          className="flex flex-wrap items-center justify-between gap-2 rounded-md border border-warning/50 p-3 text-sm"
        >
          <p>The answers come from the agent as it was saved.</p>
          <Button size="small" type="submit" form={AGENT_FORM} isBusy={isSaving}>
            Save and try
          </Button>
        </div>
      )}
      {thread === '' ? (
        <FirstMessage key={agent.id} agentId={agent.id} onStarted={open} />
      ) : (
        <LoadedThread key={thread} threadId={thread}>
          {(loaded) => <Chat {...loaded} isFocused={thread === opened} onThread={open} />}
        </LoadedThread>
      )}
    </section>
  );
}
