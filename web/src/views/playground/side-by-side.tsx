import { Link, useNavigate } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { useCallback, useRef, useState } from 'react';
import { useFilters } from '../../api/filters.js';
import { AgentPicker } from '../../records/agent-picker.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { cn } from '../../ui/class-names.js';
import { Page } from '../../ui/page.js';
import { type ChatControl, ColumnChat, ColumnPane } from './chat-column.js';
import { type Column, MAX_COLUMNS, namesOf, searchOf } from './columns.js';
import { CodeButton } from './code-dialog.js';
import { Composer } from './composer.js';
import { LoadedThread } from './loaded-thread.js';
import { NotStarted } from './not-started.js';
import { optionsOf, RunOptionsButton, useRunOptions } from './run-options.js';
import { useCallableTools } from './use-callable-tools.js';
import { useStartColumns } from './use-start-columns.js';
import { useUploads } from './use-uploads.js';

/** Two or three chats, each with an agent and options of its own, that get the same messages. */
export function SideBySide({ columns }: { readonly columns: readonly Column[] }) {
  const { slug, may } = useOrganization();
  const navigate = useNavigate();
  const [, filter] = useFilters();
  const [text, setText] = useState('');
  const input = useRef<HTMLTextAreaElement>(null);
  const uploads = useUploads();
  const [controls, setControls] = useState<ReadonlyMap<number, ChatControl>>(new Map());
  const onControl = useCallback((number: number, control: ChatControl | undefined): void => {
    setControls((before) => {
      const after = new Map(before);
      if (control === undefined) after.delete(number);
      else after.set(number, control);
      return after;
    });
  }, []);
  const starting = useStartColumns((threads) =>
    filter(Object.fromEntries([...threads].map(([number, threadId]) => [namesOf(number).thread, threadId]))),
  );
  const numbered = columns.map((column, index) => ({ ...column, number: index + 1 }));
  const fresh = numbered
    .filter(({ threadId }) => threadId === undefined)
    .map(({ number, agentId, ...options }) => ({ number, agentId, options: optionsOf(options) }));
  const callableTools = useCallableTools(
    columns.map((column) => ({ agentId: column.agentId, options: optionsOf(column) })),
    text,
  );
  const isLoading = controls.size < columns.length - fresh.length;
  const running = [...controls.values()].filter(({ isRunning }) => isRunning);

  const say = (interrupt: boolean): void => {
    const draft = { text, files: uploads.take() };
    setText('');
    for (const control of controls.values()) control.say(draft, interrupt);
    if (fresh.length > 0) starting.start(draft, fresh);
  };
  const show = (shown: readonly Column[]): void => {
    starting.forget();
    const [only] = shown;
    if (shown.length === 1 && only?.threadId !== undefined) {
      void navigate({
        to: '/$org/playground/$threadId',
        params: { org: slug, threadId: only.threadId },
        search: { tier: only.tier, temperature: only.temperature },
      });
    } else filter({ ...searchOf(shown), span: undefined, zoom: undefined });
  };
  return (
    <Page
      title="Playground"
      description="Each column is a chat of its own. A message goes to all of them."
      actions={
        columns.length < MAX_COLUMNS && (
          <Button
            variant="secondary"
            size="small"
            disabled={starting.isStarting}
            onClick={() => show([...columns, { agentId: columns[0]?.agentId ?? '' }])}
          >
            Add a column
          </Button>
        )
      }
    >
      <div className="flex min-w-0 flex-col gap-4 lg:h-[calc(100dvh-11rem)] lg:min-h-120">
        <div
          className={cn(
            'grid min-h-0 grow grid-cols-1 gap-3 lg:grid-rows-[minmax(0,1fr)]',
            columns.length === 2 ? 'lg:grid-cols-2' : 'lg:grid-cols-3',
          )}
        >
          {numbered.map(({ number, agentId, threadId }) => (
            <ColumnPane key={`${number} ${threadId}`} number={number}>
              <ColumnHead
                number={number}
                agentId={agentId}
                threadId={threadId}
                text={text}
                isBusy={starting.isStarting}
                onAgent={(id) => filter({ [namesOf(number).agent]: id })}
                onRemove={() => show(columns.filter((_column, index) => index !== number - 1))}
              />
              {threadId === undefined ? (
                <NotStarted
                  failure={starting.failures.get(number)}
                  onSendAgain={(draft) =>
                    starting.start(
                      draft,
                      fresh.filter((each) => each.number === number),
                    )
                  }
                  isBusy={starting.isStarting}
                  first={number === 1 ? undefined : columns[0]}
                  agentId={agentId}
                  onCopied={(id) => filter({ [namesOf(number).thread]: id })}
                />
              ) : (
                <LoadedThread threadId={threadId}>
                  {(loaded) => (
                    <ColumnChat
                      {...loaded}
                      number={number}
                      onControl={onControl}
                      onThread={(id) => filter({ [namesOf(number).thread]: id })}
                    />
                  )}
                </LoadedThread>
              )}
            </ColumnPane>
          ))}
        </div>
        <Composer
          text={text}
          onText={setText}
          uploads={uploads}
          onSend={() => say(false)}
          onSteer={starting.isStarting ? undefined : say}
          {...(running.length > 0 && { onStop: () => running.forEach(({ stop }) => stop()) })}
          isRunning={starting.isStarting || running.length > 0}
          isStopping={running.some(({ isStopping }) => isStopping)}
          disabledReason={
            isLoading
              ? 'The chats are loading.'
              : may('COLLECTION_THREADS_CREATE') || fresh.length === 0
                ? undefined
                : 'Your role or key does not include COLLECTION_THREADS_CREATE.'
          }
          inputRef={input}
          callableTools={callableTools}
        />
      </div>
    </Page>
  );
}

function ColumnHead({
  number,
  agentId,
  threadId,
  text,
  isBusy,
  onAgent,
  onRemove,
}: {
  readonly number: number;
  readonly agentId: string;
  readonly threadId: string | undefined;
  /** Of the message that is being written. */
  readonly text: string;
  readonly isBusy: boolean;
  readonly onAgent: (id: string) => void;
  readonly onRemove: () => void;
}) {
  const { slug, may } = useOrganization();
  const titleOf = useAgentTitles([agentId]);
  const options = useRunOptions(number);
  const mayChoose = threadId === undefined && may('COLLECTION_VIRTUAL_MCP_LIST');
  return (
    <div className="flex flex-wrap items-center gap-2 bg-background lg:sticky lg:-top-3 lg:z-4 lg:-mx-3 lg:-mt-3 lg:border-b lg:px-3 lg:py-2">
      {mayChoose ? (
        <AgentPicker value={agentId} onChange={onAgent} />
      ) : (
        <h2 className="min-w-0 font-semibold break-words">{titleOf(agentId)}</h2>
      )}
      <RunOptionsButton column={number} />
      <CodeButton agentId={agentId} threadId={threadId} text={text} options={options} />
      <div className="ml-auto flex items-center gap-2">
        {threadId !== undefined && (
          <Link
            to="/$org/playground/$threadId"
            params={{ org: slug, threadId }}
            className="text-sm text-primary underline"
          >
            Open alone
          </Link>
        )}
        <Button
          variant="ghost"
          size="icon"
          className="size-7"
          disabled={isBusy}
          aria-label={`Remove column ${number}`}
          onClick={onRemove}
        >
          <X aria-hidden className="size-4" />
        </Button>
      </div>
    </div>
  );
}
