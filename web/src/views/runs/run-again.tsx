import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { generateId } from 'ai';
import { useRef, useState } from 'react';
import type { RunDetails } from '../../records/run-columns.js';
import { type Organization, useOrganization } from '../../session/organization.js';
import { type ChatMessage, filesOf, textOf, toChatMessage } from '../../transcript/message.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField, TextAreaField, TextField } from '../../ui/field.js';
import { ErrorMessage, ErrorState, Loading } from '../../ui/states.js';
import type { RunOptions } from '../playground/run-options.js';
import { useStartChat } from '../playground/start-chat.js';
import { questionOf, type RunQuestion } from './run-question.js';

type Tier = NonNullable<RunOptions['tier']>;

const TIERS: readonly { readonly value: Tier; readonly label: string }[] = [
  { value: 'fast', label: 'Fast' },
  { value: 'smart', label: 'Smart' },
  { value: 'thinking', label: 'Thinking' },
];
const NEEDED = ['COLLECTION_THREAD_MESSAGES_LIST', 'THREAD_COPY', 'COLLECTION_THREADS_CREATE'];
const PAGE_SIZE = 100;

/** Answers the question of a run again in a thread of its own, as it was or changed, and compares the two runs. */
export function RunAgainButton({ run }: { readonly run: RunDetails }) {
  const { may } = useOrganization();
  const [isOpen, setOpen] = useState(false);
  if (!NEEDED.every(may)) return null;
  return (
    <>
      <Button variant="secondary" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Run again
      </Button>
      <Dialog
        title="Run again"
        description="The conversation before the question is copied to a new thread, where the question is asked again. Tools that the agent calls act again, too. This thread stays as it is."
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        <FoundQuestion run={run} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

/** Looks for the question when the dialog opens. */
function FoundQuestion({ run, onClose }: { readonly run: RunDetails; readonly onClose: () => void }) {
  const organization = useOrganization();
  const { data, error, refetch } = useQuery({
    queryKey: [organization.slug, 'question-of-run', run.id],
    queryFn: async ({ signal }) => (await questionOf(newestFirst(organization, run.thread_id, signal), run)) ?? null,
    staleTime: Infinity,
  });
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading label="Loading the question" />;
  if (data === null) return <p>The question of this run is no longer stored.</p>;
  return <RunAgainForm run={run} asked={data} onClose={onClose} />;
}

async function* newestFirst(
  { client }: Organization,
  threadId: string,
  signal: AbortSignal,
): AsyncGenerator<ChatMessage> {
  const request = { thread_id: threadId, order: 'desc', limit: PAGE_SIZE, include_superseded: true } as const;
  const items = client.list('COLLECTION_THREAD_MESSAGES_LIST', request, { signal });
  for await (const item of items) yield toChatMessage(item);
}

function RunAgainForm({
  run,
  asked,
  onClose,
}: {
  readonly run: RunDetails;
  readonly asked: RunQuestion;
  readonly onClose: () => void;
}) {
  const { client, slug } = useOrganization();
  const { createThread, post } = useStartChat();
  const navigate = useNavigate();
  const [text, setText] = useState(() => textOf(asked.question));
  const [tier, setTier] = useState(run.tier as Tier);
  const [temperature, setTemperature] = useState(String(run.temperature ?? ''));
  const [messageId] = useState(generateId);
  // A second try after a refusal uses the thread of the first.
  const thread = useRef<string>(undefined);
  const files = filesOf(asked.question);
  const draft = { text, files };
  const number = Number(temperature);
  const isTemperature = temperature.trim() === '' || (number >= 0 && number <= 2);
  const agentId = run.agent_id;
  const makeThread = async (): Promise<string> => {
    if (asked.previousId === undefined) return createThread(agentId, draft);
    const input = { id: run.thread_id, until_message_id: asked.previousId };
    return (await client.tool('THREAD_COPY', input)).item.id;
  };
  const again = useMutation({
    mutationFn: async () => {
      thread.current ??= await makeThread();
      const options = { tier, ...(temperature.trim() !== '' && { temperature: number }) };
      const system = asked.system.map(textOf);
      return post({ threadId: thread.current, messageId, agentId, draft, options, system });
    },
    onSuccess: (b) => navigate({ to: '/$org/runs/compare', params: { org: slug }, search: { a: run.id, b } as never }),
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        again.mutate();
      }}
    >
      <TextAreaField
        label="Question"
        hint={files.length > 0 && 'Its files are sent again, too.'}
        rows={6}
        value={text}
        onChange={setText}
      />
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <SelectField label="Tier" value={tier} options={TIERS} onChange={setTier} />
        <TextField
          label="Temperature"
          hint="From 0 to 2. Empty: the model’s own."
          inputMode="decimal"
          value={temperature}
          error={isTemperature ? undefined : 'Enter a number from 0 to 2.'}
          onChange={setTemperature}
        />
      </div>
      <ErrorMessage error={again.error} />
      <div className="flex justify-end gap-2">
        <Button variant="secondary" onClick={onClose}>
          Cancel
        </Button>
        <Button
          type="submit"
          isBusy={again.isPending}
          disabled={!isTemperature || (text.trim() === '' && files.length === 0)}
        >
          Run again and compare
        </Button>
      </div>
    </form>
  );
}
