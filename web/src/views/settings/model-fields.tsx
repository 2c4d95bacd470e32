import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { ErrorMessage } from '../../ui/states.js';
import { formatDuration } from '../../ui/format.js';
import { LimitFields } from './limit-fields.js';
import type { ModelDraft } from './model-draft.js';
import { PriceFields } from './price-fields.js';

/** How long a provider is not asked again for its models. */
const LIST_FRESH_MS = 60_000;

export type Provider = ToolOutput<'AI_PROVIDER_LIST'>['items'][number];

/** Chooses a model of a provider, and tries it. */
export function ModelFields({
  draft,
  emptyLabel,
  providers,
  onChange,
}: {
  readonly draft: ModelDraft;
  /** What answers without a provider; undefined if there must be one. */
  readonly emptyLabel: string | undefined;
  readonly providers: readonly Provider[];
  readonly onChange: (draft: ModelDraft) => void;
}) {
  const { may } = useOrganization();
  const { providerId, model, price, limits } = draft;
  const set = (change: Partial<ModelDraft>): void => onChange({ ...draft, ...change });
  const isSet = providerId !== '';
  const knownId = useId();
  const [askedProviderId, setAskedProviderId] = useState('');
  const provider = providers.find(({ id }) => id === providerId);
  const known = useKnownModels(providerId, askedProviderId === providerId ? provider : undefined);
  const test = useChange('AI_PROVIDER_TEST', []);
  const tried = { id: providerId, model: model.trim() };
  const isResultOfThis = test.variables?.id === tried.id && test.variables.model === tried.model;
  const isFixed = !may('MODEL_TIERS_SET');
  return (
    <>
      <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-[1fr_1fr_auto]">
        <SelectField
          label="Provider"
          value={providerId}
          disabled={isFixed}
          options={[
            ...(emptyLabel === undefined ? [] : [{ value: '', label: emptyLabel }]),
            ...providers.map(({ id, title }) => ({ value: id, label: title })),
            // Who must not list the providers keeps the one that is chosen.
            ...(isSet && !providers.some(({ id }) => id === providerId)
              ? [{ value: providerId, label: `Provider ${providerId}` }]
              : []),
          ]}
          onChange={(id) => set({ providerId: id })}
        />
        <TextField
          label="Model"
          required={isSet}
          disabled={!isSet || isFixed}
          placeholder={isSet ? 'The provider’s name of the model' : ''}
          value={isSet ? model : ''}
          list={knownId}
          autoComplete="off"
          onFocus={() => setAskedProviderId(providerId)}
          onChange={(name) => set({ model: name })}
        />
        <datalist id={knownId}>
          {known.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        {may('AI_PROVIDER_TEST') && (
          <Button
            variant="secondary"
            disabled={tried.id === '' || tried.model === ''}
            isBusy={test.isPending}
            onClick={() => test.mutate(tried)}
          >
            Test
          </Button>
        )}
      </div>
      {isSet && (
        <>
          <PriceFields draft={price} disabled={isFixed} onChange={(changed) => set({ price: changed })} />
          <LimitFields draft={limits} disabled={isFixed} onChange={(changed) => set({ limits: changed })} />
        </>
      )}
      <div role="status" className="text-sm empty:hidden">
        {isResultOfThis && test.data && <TestResult result={test.data} />}
      </div>
      <ErrorMessage error={isResultOfThis ? test.error : null} />
    </>
  );
}

/**
 * The models of a provider that tiers name already, and those that it lists: the field offers them, and takes every
 * other name, too.
 * @param asked the provider, when it is to be asked
 */
function useKnownModels(providerId: string, asked: Provider | undefined): readonly string[] {
  const { client, slug, may } = useOrganization();
  const { data } = useTool('MODEL_TIERS_GET', {});
  const stored = Object.values(data?.item ?? {}).flatMap((target) =>
    target === null ? [] : [target, ...(target.fallbacks ?? [])],
  );
  const named = stored.filter((each) => each.provider_id === providerId).map(({ model }) => model);
  const listed = useQuery({
    // Not under `[slug]`, which is read again after a gap in the stream of changes: nobody has asked the provider again.
    queryKey: ['listed-models', slug, asked?.id, asked?.updated_at],
    queryFn: ({ signal }) => client.tool('AI_PROVIDER_MODELS', { id: providerId }, { signal }),
    enabled: asked !== undefined && may('AI_PROVIDER_MODELS'),
    staleTime: LIST_FRESH_MS,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  });
  return [...new Set([...named, ...(listed.data?.models ?? [])])].toSorted();
}

function TestResult({ result }: { readonly result: ToolOutput<'AI_PROVIDER_TEST'> }) {
  const time = formatDuration(result.latency_ms);
  return result.ok ? (
    <p className="text-success">It answered after {time}.</p>
  ) : (
    <p className="break-words text-destructive">
      It failed after {time}: {result.error}
    </p>
  );
}
