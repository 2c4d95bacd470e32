import { useNavigate, useParams } from '@tanstack/react-router';
import { useChange } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Page } from '../../ui/page.js';
import { NoPermission } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import { type AgentDraft, agentDataOf } from './form/agent-draft.js';
import { AgentForm } from './form/agent-form.js';

/** The form for a new agent. */
export function CreateAgent() {
  const { org } = useParams({ from: '/$org' });
  const navigate = useNavigate();
  const showToast = useToast();
  const { may } = useOrganization();
  const create = useChange('COLLECTION_VIRTUAL_MCP_CREATE', [
    'COLLECTION_VIRTUAL_MCP_LIST',
    'COLLECTION_CONNECTIONS_LIST',
  ]);
  const submit = (draft: AgentDraft): void =>
    create.mutate(
      { data: agentDataOf(draft) },
      {
        onSuccess: ({ item }) => {
          showToast(`The agent “${item.title}” was created.`);
          void navigate({ to: '/$org/agents/$agentId', params: { org, agentId: item.id } });
        },
      },
    );
  return (
    <Page
      title="Create agent"
      description="Instructions for a model, and the tools that it can use. All of it can be changed later."
    >
      {may('COLLECTION_VIRTUAL_MCP_CREATE') ? (
        <AgentForm submitLabel="Create agent" isBusy={create.isPending} error={create.error} onSubmit={submit} />
      ) : (
        <NoPermission detail="Your role or key cannot create agents." />
      )}
    </Page>
  );
}
