import { type FormEvent, useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useChange, useTool } from '../../api/queries.js';
import { Button } from '../../ui/button.js';
import { Section } from '../../ui/page.js';
import { Form } from '../../ui/form.js';
import { ErrorMessage, ErrorState, Loading } from '../../ui/states.js';
import { useToast } from '../../ui/toast.js';
import { draftsOf, type StoredTarget, targetOf } from './model-draft.js';
import type { Provider } from './model-fields.js';
import { TierModels } from './tier-models.js';

type Tiers = ToolOutput<'MODEL_TIERS_GET'>['item'];
type Tier = keyof Tiers;

const TIERS: readonly { readonly tier: Tier; readonly title: string; readonly purpose: string }[] = [
  { tier: 'fast', title: 'Fast', purpose: 'Short and cheap tasks.' },
  { tier: 'smart', title: 'Smart', purpose: 'The default of every agent, and of tiers that are not set.' },
  { tier: 'thinking', title: 'Thinking', purpose: 'Hard tasks that may take longer.' },
];

/** Chooses the models of each tier. */
export function TiersForm({ providers }: { readonly providers: readonly Provider[] }) {
  const { data, error, refetch } = useTool('MODEL_TIERS_GET', {});
  return (
    <Section title="Tiers">
      <p className="max-w-[70ch] text-sm text-muted-foreground">
        Agents name a tier and not a model, so a model can be replaced here for all of them. Where a model fails, its
        fallbacks are called in their order. With a price, runs from then on get a cost; earlier runs keep theirs.
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
  readonly stored: StoredTarget;
  readonly providers: readonly Provider[];
}) {
  const [initial] = useState(() => draftsOf(stored));
  const [drafts, setDrafts] = useState(initial);
  const say = useToast();
  const save = useChange('MODEL_TIERS_SET', ['MODEL_TIERS_GET'], () => say(`The tier “${title}” was saved.`));
  const isSet = drafts[0]?.providerId !== '';
  const isChanged = isSet ? JSON.stringify(drafts) !== JSON.stringify(initial) : stored !== null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate({ data: { [tier]: targetOf(drafts) } });
  };
  return (
    <Form
      error={save.error}
      onSubmit={submit}
      aria-label={`Tier ${title}`}
      className="flex flex-col gap-2 rounded-md border p-3"
    >
      <div>
        <h3 className="font-medium">{title}</h3>
        <p className="text-[0.8125rem] text-muted-foreground">{purpose}</p>
      </div>
      <TierModels
        drafts={drafts}
        emptyLabel={tier === 'smart' ? 'Built-in model (echoes)' : 'As the tier “smart”'}
        providers={providers}
        onChange={setDrafts}
      >
        <Button type="submit" className="ml-auto" disabled={!isChanged} isBusy={save.isPending}>
          Save
        </Button>
      </TierModels>
      <ErrorMessage error={save.error} />
    </Form>
  );
}
