import { type FormEvent, useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useChange, useTool } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { SelectField, TextField } from '../../ui/field.js';
import { Section } from '../../ui/page.js';
import { ErrorMessage, ErrorState, Loading } from '../../ui/states.js';
import { formatDuration } from '../../ui/time.js';
import { useToast } from '../../ui/toast.js';
import { isSamePrice, priceDraftOf, PriceFields, priceOf } from './price-fields.js';

type Tiers = ToolOutput<'MODEL_TIERS_GET'>['item'];
type Tier = keyof Tiers;
type Provider = ToolOutput<'AI_PROVIDER_LIST'>['items'][number];

const TIERS: readonly { readonly tier: Tier; readonly title: string; readonly purpose: string }[] = [
  { tier: 'fast', title: 'Fast', purpose: 'Short and cheap tasks.' },
  { tier: 'smart', title: 'Smart', purpose: 'The default of every agent, and of tiers that are not set.' },
  { tier: 'thinking', title: 'Thinking', purpose: 'Hard tasks that may take longer.' },
];

/** Chooses a model for each tier, and tries it. */
export function TiersForm({ providers }: { readonly providers: readonly Provider[] }) {
  const { data, error, refetch } = useTool('MODEL_TIERS_GET', {});
  return (
    <Section title="Tiers">
      <p className="text-sm text-muted-foreground">
        Agents name a tier and not a model, so a model can be replaced here for all of them.
      </p>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data && (
        <div className="flex flex-col gap-3">
          {TIERS.map(({ tier, ...words }) => (
            <TierForm
              // Another stored value begins a new form.
              key={`${tier} ${JSON.stringify(data.item[tier])}`}
              tier={tier}
              {...words}
              stored={data.item[tier]}
              providers={providers}
            />
          ))}
        </div>
      )}
    </Section>
  );
}

function TierForm({
  tier,
  title,
  purpose,
  stored,
  providers,
}: {
  readonly tier: Tier;
  readonly title: string;
  readonly purpose: string;
  readonly stored: Tiers[Tier];
  readonly providers: readonly Provider[];
}) {
  const { may } = useOrganization();
  const [providerId, setProviderId] = useState(stored?.provider_id ?? '');
  const [model, setModel] = useState(stored?.model ?? '');
  const [price, setPrice] = useState(priceDraftOf(stored));
  const save = useChange('MODEL_TIERS_SET', ['MODEL_TIERS_GET']);
  const test = useChange('AI_PROVIDER_TEST', []);
  const say = useToast();
  const isChanged =
    providerId !== (stored?.provider_id ?? '') ||
    (providerId !== '' && (model !== (stored?.model ?? '') || !isSamePrice(price, priceDraftOf(stored))));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const target = providerId === '' ? null : { provider_id: providerId, model: model.trim(), ...priceOf(price) };
    save.mutate({ data: { [tier]: target } }, { onSuccess: () => say(`The tier “${title}” was saved.`) });
  };
  return (
    <form onSubmit={submit} aria-label={`Tier ${title}`} className="flex flex-col gap-2 rounded-md border p-3">
      <div>
        <h3 className="font-medium">{title}</h3>
        <p className="text-[0.8125rem] text-muted-foreground">{purpose}</p>
      </div>
      <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-[1fr_1fr_auto]">
        <SelectField
          label="Provider"
          value={providerId}
          disabled={!may('MODEL_TIERS_SET')}
          options={[
            { value: '', label: tier === 'smart' ? 'Built-in model (echoes)' : 'As the tier “smart”' },
            ...providers.map(({ id, title: name }) => ({ value: id, label: name })),
          ]}
          onChange={setProviderId}
        />
        <TextField
          label="Model"
          required={providerId !== ''}
          disabled={providerId === '' || !may('MODEL_TIERS_SET')}
          placeholder={providerId === '' ? '' : 'The provider’s name of the model'}
          value={providerId === '' ? '' : model}
          onChange={setModel}
        />
        <div className="flex gap-2">
          {may('AI_PROVIDER_TEST') && (
            <Button
              variant="secondary"
              disabled={providerId === '' || model.trim() === ''}
              isBusy={test.isPending}
              onClick={() => test.mutate({ id: providerId, model: model.trim() })}
            >
              Test
            </Button>
          )}
          {may('MODEL_TIERS_SET') && (
            <Button type="submit" disabled={!isChanged} isBusy={save.isPending}>
              Save
            </Button>
          )}
        </div>
      </div>
      {providerId !== '' && <PriceFields draft={price} disabled={!may('MODEL_TIERS_SET')} onChange={setPrice} />}
      <div role="status" className="text-sm empty:hidden">
        {test.data &&
          (test.data.ok ? (
            <p className="text-success">It answered after {formatDuration(test.data.latency_ms)}.</p>
          ) : (
            <p className="break-words text-destructive">
              It failed after {formatDuration(test.data.latency_ms)}: {test.data.error}
            </p>
          ))}
      </div>
      <ErrorMessage error={save.error ?? test.error} />
    </form>
  );
}
