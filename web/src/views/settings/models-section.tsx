import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { DataTable } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { ProviderDialog } from './provider-dialog.js';
import { hasSecret, KINDS, type Provider } from './provider-kinds.js';
import { TiersForm } from './tiers-form.js';
import { useEdited } from './use-edited.js';

/** AI providers, and which model answers in each tier. */
export function ModelsSection() {
  const { may } = useOrganization();
  const providers = useTool('AI_PROVIDER_LIST', {}, { isEnabled: may('AI_PROVIDER_LIST') });
  const items = providers.data?.items ?? [];
  return (
    <>
      {may('AI_PROVIDER_LIST') && (
        <Providers
          items={items}
          isPending={providers.isPending}
          error={providers.error}
          onRetry={() => void providers.refetch()}
        />
      )}
      {may('MODEL_TIERS_GET') && <TiersForm providers={items} />}
    </>
  );
}

function Providers({
  items,
  isPending,
  error,
  onRetry,
}: {
  readonly items: readonly Provider[];
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onRetry: () => void;
}) {
  const { may } = useOrganization();
  const [edited, setEdited] = useEdited(items, ({ id }) => id);
  const remove = useChange('AI_PROVIDER_DELETE', ['AI_PROVIDER_LIST', 'MODEL_TIERS_GET']);
  const addButton = may('AI_PROVIDER_CREATE') && <Button onClick={() => setEdited('new')}>Add provider</Button>;
  const columns: readonly Column<Provider>[] = [
    { header: 'Name', cell: ({ title }) => <span className="font-medium break-words">{title}</span> },
    { header: 'Kind', cell: ({ kind }) => KINDS[kind].label },
    {
      header: 'Address',
      isSecondary: true,
      cell: ({ base_url: url, region }) => <span className="break-all">{url ?? region ?? 'the usual one'}</span>,
    },
    { header: 'API key', isSecondary: true, cell: (provider) => (hasSecret(provider) ? 'stored' : 'none') },
    {
      header: 'Actions',
      isBelow: true,
      cell: (provider) => (
        <div className="flex flex-wrap gap-2">
          {may('AI_PROVIDER_UPDATE') && (
            <Button
              variant="secondary"
              size="small"
              aria-label={`Edit ${provider.title}`}
              onClick={() => setEdited(provider)}
            >
              Edit
            </Button>
          )}
          {may('AI_PROVIDER_DELETE') && (
            <ConfirmButton
              label="Delete provider"
              size="small"
              title={`Delete the provider “${provider.title}”?`}
              onConfirm={() => remove.mutateAsync({ id: provider.id })}
            >
              <p>Its models leave the tiers, and their fallbacks move up. Its keys are forgotten.</p>
            </ConfirmButton>
          )}
        </div>
      ),
    },
  ];
  return (
    <Section title="AI providers" actions={items.length > 0 && addButton}>
      <p className="text-sm text-muted-foreground">
        Where models run: OpenAI, Anthropic, Google, Azure, Amazon Bedrock, Mistral, or any server that speaks OpenAI’s
        protocol, such as vLLM or Ollama.
      </p>
      {error && items.length === 0 && <ErrorState error={error} onRetry={onRetry} />}
      {isPending && <Loading />}
      {!isPending && !error && items.length === 0 && (
        <EmptyState title="There are no providers yet. Agents answer with the built-in model, which only echoes.">
          {addButton}
        </EmptyState>
      )}
      {items.length > 0 && <DataTable label="AI providers" columns={columns} rows={items} keyOf={({ id }) => id} />}
      {edited !== undefined && may(edited === 'new' ? 'AI_PROVIDER_CREATE' : 'AI_PROVIDER_UPDATE') && (
        <ProviderDialog provider={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </Section>
  );
}
