import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { generateId } from 'ai';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useFilters } from '../../api/filters.js';
import { useList, useTool } from '../../api/queries.js';
import { AgentPicker } from '../../records/agent-picker.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { Page } from '../../ui/page.js';
import { EmptyState, ErrorMessage, ErrorState, Loading, NoPermission } from '../../ui/states.js';
import { AgentTools } from './agent-tools.js';
import { CodeButton } from './code-dialog.js';
import { CHAT_HEIGHT } from './chat.js';
import { searchOf } from './columns.js';
import { Composer } from './composer.js';
import type { Draft } from './draft.js';
import { EarlierChats } from './earlier-chats.js';
import { RunOptionsButton, useRunOptions } from './run-options.js';
import { useStartChat } from './start-chat.js';
import { useCallableTools } from './use-callable-tools.js';
import { useUploads } from './use-uploads.js';

/** A chat before its first message: which agent it is with. */
export function NewChat() {
  const { slug, may } = useOrganization();
  const { agent = '' } = useSearch({ from: '/$org/playground' });
  const navigate = useNavigate({ from: '/$org/playground' });
  const [{ tier, temperature }, filter] = useFilters();
  const canList = may('COLLECTION_VIRTUAL_MCP_LIST');
  const agents = useList('COLLECTION_VIRTUAL_MCP_LIST', { limit: 2 }, { isEnabled: canList });
  const only = agents.totalCount === 1 ? agents.rows[0]?.id : undefined;
  const agentId = agent || (only ?? '');
  const open = (threadId: string): void =>
    void navigate({
      to: '/$org/playground/$threadId',
      params: { org: slug, threadId },
      search: (current) => ({ ...current, agent: undefined }) as never,
    });
  const choose = (id: string): void =>
    void navigate({ search: (current) => ({ ...current, agent: id }), replace: true });

  return (
    <Page
      title="Playground"
      description="Talk to an agent and watch its tools work. Each chat is kept as a thread."
      actions={
        <>
          {canList && <AgentPicker value={agentId} onChange={choose} />}
          {agentId !== '' && (
            <Button variant="secondary" onClick={() => filter(searchOf([{ agentId, tier, temperature }, { agentId }]))}>
              Add a column
            </Button>
          )}
        </>
      }
    >
      {!may('COLLECTION_THREADS_CREATE') ? (
        <NoPermission detail="Your role or key does not include COLLECTION_THREADS_CREATE." />
      ) : agents.query.isLoadingError ? (
        <ErrorState error={agents.query.error} onRetry={() => void agents.query.refetch()} />
      ) : canList && agents.query.isPending ? (
        <Loading label="Loading the agents" />
      ) : agents.totalCount === 0 ? (
        <EmptyState title="There are no agents yet.">
          <p className="max-w-prose text-sm text-muted-foreground">
            An agent is a model with instructions and the tools of your connections.
          </p>
          <Button asChild>
            <Link to="/$org/agents" params={{ org: slug }}>
              Create an agent
            </Link>
          </Button>
        </EmptyState>
      ) : (
        <div className={CHAT_HEIGHT}>
          <FirstMessage agentId={agentId} isFocused onStarted={open}>
            <EarlierChats />
          </FirstMessage>
        </div>
      )}
    </Page>
  );
}

/** The field for the first message of a chat, with the tools of the agent. */
export function FirstMessage({
  agentId,
  isFocused = false,
  onStarted,
  children,
}: {
  readonly agentId: string;
  /** Puts the focus into the field. */
  readonly isFocused?: boolean;
  /** Gets the id of the thread that the first message began. */
  readonly onStarted: (threadId: string) => void;
  /** Stands above the field. */
  readonly children?: ReactNode;
}) {
  const { may } = useOrganization();
  const [text, setText] = useState('');
  const input = useRef<HTMLTextAreaElement>(null);
  const options = useRunOptions();
  const uploads = useUploads();
  const callableTools = useCallableTools([{ agentId, options }], text);
  const { createThread, post } = useStartChat();
  const [messageId] = useState(generateId);
  // A second try after a refusal uses the thread of the first.
  const created = useRef<{ readonly agentId: string; readonly threadId: string }>(undefined);
  const start = useMutation({
    mutationFn: async (draft: Draft) => {
      if (created.current?.agentId !== agentId) {
        created.current = { agentId, threadId: await createThread(agentId, draft) };
      }
      const { threadId } = created.current;
      await post({ threadId, messageId, agentId, draft, options });
      return threadId;
    },
  });
  useEffect(() => {
    if (isFocused && agentId !== '') input.current?.focus();
  }, [agentId, isFocused]);
  return (
    <div className="mx-auto flex w-full max-w-4xl grow flex-col gap-4">
      {agentId === '' ? (
        <EmptyState title="Choose the agent to talk to.">
          {!may('COLLECTION_VIRTUAL_MCP_LIST') && (
            <p className="text-sm text-muted-foreground">
              Your role or key cannot list agents. Open this view with <code>?agent=</code> and the id of one.
            </p>
          )}
        </EmptyState>
      ) : (
        <AgentTools agentId={agentId} onUse={(tool) => setText(`/call ${tool} {}`)} />
      )}
      <ModelHint />
      {children}
      <div className="grow" />
      <ErrorMessage error={start.error} />
      <Composer
        text={text}
        onText={setText}
        uploads={uploads}
        // Who has left meanwhile is not taken to the chat.
        onSend={() => start.mutate({ text, files: uploads.parts }, { onSuccess: onStarted })}
        isRunning={start.isPending}
        disabledReason={agentId === '' ? 'Choose an agent first.' : undefined}
        inputRef={input}
        callableTools={callableTools}
        actions={
          <>
            <RunOptionsButton />
            {agentId !== '' && <CodeButton agentId={agentId} text={text} options={options} />}
          </>
        }
      />
    </div>
  );
}

/** Says who answers as long as no model is set up. */
function ModelHint() {
  const { slug, may } = useOrganization();
  const tiers = useTool('MODEL_TIERS_GET', {}, { isEnabled: may('MODEL_TIERS_GET') });
  const item = tiers.data?.item;
  if (item === undefined || item.fast || item.smart || item.thinking) return null;
  return (
    <p className="rounded-md border border-dashed p-3 text-sm text-muted-foreground">
      No model is set up yet, so the built-in one answers: it repeats what you write, and{' '}
      <code>/call tool {'{"argument": 1}'}</code> makes it call a tool.{' '}
      <Link to="/$org/settings" params={{ org: slug }} className="text-primary underline">
        Set up a model
      </Link>
    </p>
  );
}
