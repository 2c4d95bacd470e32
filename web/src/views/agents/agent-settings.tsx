import { useNavigate, useParams } from '@tanstack/react-router';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { ChangedMeanwhile } from '../../ui/changed-meanwhile.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { Section } from '../../ui/page.js';
import { NoPermission } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import { useFormStart } from '../../ui/use-form-start.js';
import { type Agent, type AgentDraft, agentDataOf, agentDraftOf } from './form/agent-draft.js';
import { AgentForm } from './form/agent-form.js';
import type { DefinitionTokens } from './form/tool-mode-section.js';

/** Everything about an agent that can be changed, and its deletion. */
export function AgentSettings({
  agent,
  tokens,
  update,
  isChanged,
  onChanged,
}: {
  readonly agent: Agent;
  readonly tokens: DefinitionTokens;
  /** Stores the changes. */
  readonly update: ReturnType<typeof useChange<'COLLECTION_VIRTUAL_MCP_UPDATE'>>;
  /** Whether the form differs from the agent with which it began. */
  readonly isChanged: boolean;
  readonly onChanged: (isChanged: boolean) => void;
}) {
  const { may } = useOrganization();
  const showToast = useToast();
  const isHeld = isChanged || update.isPending;
  const { start, isOutdated, formKey, restart } = useFormStart(agent, isHeld, agentDraftOf);
  const save = async (draft: AgentDraft, isTyped: () => boolean): Promise<void> => {
    try {
      const { item } = await update.mutateAsync({ id: agent.id, data: agentDataOf(draft, start) });
      restart(item, isTyped());
      showToast('The agent was saved.');
    } catch {
      // The form shows the error.
    }
  };
  const load = (): void => {
    update.reset();
    restart(agent);
  };
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {isOutdated && !update.isPending && <ChangedMeanwhile what="agent" onLoad={load} />}
      {may('COLLECTION_VIRTUAL_MCP_UPDATE') ? (
        <AgentForm
          key={formKey}
          agent={start}
          tokens={tokens}
          submitLabel="Save agent"
          isBusy={update.isPending}
          error={update.error}
          onSubmit={(...submitted) => void save(...submitted)}
          onChanged={onChanged}
        />
      ) : (
        <NoPermission detail="Your role or key cannot change agents." />
      )}
      {may('COLLECTION_VIRTUAL_MCP_DELETE') && <DeleteAgent agent={agent} />}
    </div>
  );
}

function DeleteAgent({ agent: { id, title } }: { readonly agent: Agent }) {
  const { org } = useParams({ from: '/$org' });
  const navigate = useNavigate();
  const showToast = useToast();
  const remove = useChange('COLLECTION_VIRTUAL_MCP_DELETE', [
    'COLLECTION_VIRTUAL_MCP_LIST',
    'COLLECTION_CONNECTIONS_LIST',
  ]);
  const confirm = async (): Promise<void> => {
    await remove.mutateAsync({ id });
    showToast(`The agent “${title}” was deleted.`);
    await navigate({ to: '/$org/agents', params: { org } });
  };
  return (
    <Section title="Delete" className="max-w-4xl">
      <p className="text-sm text-muted-foreground">To stop its use for a while, make it inactive instead.</p>
      <div>
        <ConfirmButton label="Delete agent" title={`Delete “${title}”?`} onConfirm={confirm}>
          MCP clients that use its address stop working, schedules that run it are disabled, and its instructions are
          gone for good. Its connections and the transcripts of its threads stay.
        </ConfirmButton>
      </div>
    </Section>
  );
}
