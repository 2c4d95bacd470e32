import { useNavigate, useParams } from '@tanstack/react-router';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { Section } from '../../ui/page.js';
import { NoPermission } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import { type Agent, agentDataOf } from './form/agent-draft.js';
import { AgentForm } from './form/agent-form.js';

/** Everything about an agent that can be changed, and its deletion. */
export function AgentSettings({ agent }: { readonly agent: Agent }) {
  const { may } = useOrganization();
  const showToast = useToast();
  const update = useChange('COLLECTION_VIRTUAL_MCP_UPDATE', [
    'COLLECTION_VIRTUAL_MCP_GET',
    'COLLECTION_VIRTUAL_MCP_LIST',
    'COLLECTION_CONNECTIONS_LIST',
  ]);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {may('COLLECTION_VIRTUAL_MCP_UPDATE') ? (
        <AgentForm
          agent={agent}
          submitLabel="Save agent"
          isBusy={update.isPending}
          error={update.error}
          onSubmit={(draft) =>
            update.mutate(
              { id: agent.id, data: agentDataOf(draft, agent) },
              { onSuccess: () => showToast('The agent was saved.') },
            )
          }
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
