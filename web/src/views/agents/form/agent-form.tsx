import { type FormEvent, useEffect, useState } from 'react';
import { SignalboxError } from '../../../../../packages/client/src/signalbox-error.js';
import { SpendFields } from '../../../spending/spend-fields.js';
import { Button } from '../../../ui/button.js';
import { CheckboxField, SelectField, TextAreaField, TextField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { Section } from '../../../ui/page.js';
import { EmptyState, ErrorMessage } from '../../../ui/states.js';
import { useTypedSince } from '../../../ui/use-form-start.js';
import { useConnectionsById } from '../member-connections.js';
import { type Agent, type AgentDraft, agentDraftOf, type MemberDraft, newMember } from './agent-draft.js';
import { AnswerSection } from './answer-section.js';
import { ConnectionPicker } from './connection-picker.js';
import { MemberFields } from './member-fields.js';
import { type DefinitionTokens, ToolModeSection } from './tool-mode-section.js';
import { NameConflicts } from './name-conflicts-section.js';
import { schemaFaultOf } from './output-schema.js';

const TIERS = [
  { value: '', label: 'Default of the organization' },
  { value: 'fast', label: 'Fast' },
  { value: 'smart', label: 'Smart' },
  { value: 'thinking', label: 'Thinking' },
] as const;

/** The id of the form, for buttons beside it. */
export const AGENT_FORM = 'agent-form';

/** The form that creates or changes an agent. */
export function AgentForm({
  agent,
  tokens,
  submitLabel,
  isBusy,
  error,
  onSubmit,
  onChanged,
}: {
  /** Undefined for a new agent. */
  readonly agent?: Agent;
  /** What the definitions of its tools cost a model. */
  readonly tokens?: DefinitionTokens;
  readonly submitLabel: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  /** `isTyped` says whether the form was changed since. */
  readonly onSubmit: (draft: AgentDraft, isTyped: () => boolean) => void;
  /** Told whether the form differs from `agent`. */
  readonly onChanged?: (isChanged: boolean) => void;
}) {
  const [draft, setDraft] = useState(() => agentDraftOf(agent));
  const [isChecked, setIsChecked] = useState(false);
  const schemaFault = schemaFaultOf(draft.outputSchema);
  const set = (change: Partial<AgentDraft>): void => setDraft((current) => ({ ...current, ...change }));
  const isChanged = JSON.stringify(draft) !== JSON.stringify(agentDraftOf(agent));
  useEffect(() => onChanged?.(isChanged), [isChanged, onChanged]);
  const isTyped = useTypedSince(draft);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIsChecked(true);
    if (schemaFault === undefined) onSubmit(draft, isTyped);
  };
  return (
    <Form error={error} id={AGENT_FORM} onSubmit={submit} className="flex max-w-4xl min-w-0 flex-col gap-4">
      <Section title="About">
        <TextField
          label="Title"
          path="title"
          required
          autoComplete="off"
          placeholder="Support"
          value={draft.title}
          onChange={(title) => set({ title })}
        />
        <TextField
          label="Name in programs (optional)"
          path="slug"
          hint="What OpenAI’s clients call the model. By default made of the title."
          autoComplete="off"
          placeholder="support"
          maxLength={63}
          pattern="[a-z0-9]+(-[a-z0-9]+)*"
          title="Words of a-z and 0-9, joined by -"
          value={draft.slug}
          onChange={(slug) => set({ slug })}
        />
        <TextField
          label="Description (optional)"
          path="description"
          hint="For people who choose among agents."
          value={draft.description}
          onChange={(description) => set({ description })}
        />
        <TextAreaField
          label="Instructions (optional)"
          path="instructions"
          rows={8}
          placeholder="You answer questions about orders. Look the order up before you answer. Never promise a refund."
          hint="The system prompt of every run: who the agent is, what it should do, and what it must not do."
          value={draft.instructions}
          onChange={(instructions) => set({ instructions })}
        />
        <CheckboxField
          label="Active"
          hint="An inactive agent answers nobody."
          checked={draft.isActive}
          onChange={(isActive) => set({ isActive })}
        />
      </Section>
      <Members agentId={agent?.id} members={draft.members} error={error} onChange={(members) => set({ members })} />
      <ToolModeSection draft={draft} set={set} tokens={tokens} error={error} />
      <AnswerSection draft={draft} fault={isChecked ? schemaFault : undefined} set={set} />
      <Limits draft={draft} set={set} />
      <ErrorMessage error={error} />
      <div>
        <Button type="submit" isBusy={isBusy}>
          {submitLabel}
        </Button>
      </div>
    </Form>
  );
}

function Members({
  agentId,
  members,
  error,
  onChange,
}: {
  readonly agentId: string | undefined;
  readonly members: readonly MemberDraft[];
  readonly error: Error | null;
  readonly onChange: (members: readonly MemberDraft[]) => void;
}) {
  const ids = members.map(({ connectionId }) => connectionId);
  const connections = useConnectionsById(ids);
  return (
    <Section title="Tools">
      <p className="text-sm text-muted-foreground">
        The agent calls the tools of its connections. It can use other agents too, as if each were one connection.
      </p>
      {members.length === 0 && <EmptyState title="The agent has no tools yet. Add a connection below." />}
      {members.map((member, index) => (
        <MemberFields
          key={member.connectionId}
          member={member}
          connection={connections.get(member.connectionId)}
          error={errorOfMember(error, index)}
          onChange={(changed) => onChange(members.with(index, changed))}
          onRemove={() => onChange(members.toSpliced(index, 1))}
        />
      ))}
      <NameConflicts members={members} connections={connections} />
      <ConnectionPicker
        without={agentId === undefined ? ids : [agentId, ...ids]}
        onAdd={(id) => onChange([...members, newMember(id)])}
      />
    </Section>
  );
}

function Limits({ draft, set }: { readonly draft: AgentDraft; readonly set: (change: Partial<AgentDraft>) => void }) {
  return (
    <Section title="Model and limits">
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <SelectField
          label="Tier"
          path="tier"
          hint="Which of the organization’s models answers, unless a request names a tier."
          value={draft.tier}
          options={TIERS}
          onChange={(tier) => set({ tier })}
        />
        <TextField
          label="Steps of a run (optional)"
          path="max_steps"
          hint="How often one run can call the model: 1 to 100, by default 20."
          type="number"
          min={1}
          max={100}
          value={draft.maxSteps}
          onChange={(maxSteps) => set({ maxSteps })}
        />
        <TextField
          label="Messages of the history (optional)"
          path="history_messages"
          hint="How many earlier messages of the thread a run reads, by default 200."
          type="number"
          min={1}
          value={draft.historyMessages}
          onChange={(historyMessages) => set({ historyMessages })}
        />
        <TextField
          label="Tokens of the history (optional)"
          path="history_tokens"
          hint="Their size at most, estimated; by default 100,000."
          type="number"
          min={1}
          value={draft.historyTokens}
          onChange={(historyTokens) => set({ historyTokens })}
        />
        <TextField
          label="Time for an approval, in minutes (optional)"
          path="approval_timeout"
          hint="Then the call is denied. By default 1440: a day."
          type="number"
          min={1}
          max={43_200}
          step="any"
          value={draft.approvalMinutes}
          onChange={(approvalMinutes) => set({ approvalMinutes })}
        />
      </div>
      <SpendFields draft={draft.spend} onChange={(spend) => set({ spend })} />
    </Section>
  );
}

/** What the service said about one connection of the request. */
function errorOfMember(error: Error | null, index: number): string | undefined {
  if (!(error instanceof SignalboxError)) return undefined;
  return error.errors.find(({ path }) => path.startsWith(`data.connections[${index}]`))?.message;
}
