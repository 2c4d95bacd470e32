import type { ToolInput } from '../../../client/src/api.js';
import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import type { Entry } from './manifest.js';
import { ProviderReferences } from './provider-references.js';
import { compare, type Change, type Existing, type Section } from './section.js';

type Target = NonNullable<ToolInput<'MODEL_TIERS_SET'>['data']['smart']>;
type Model = Omit<Target, 'fallbacks'>;

const TIERS = ['fast', 'smart', 'thinking'] as const;

/** What concerns one model, and not another one in its place. */
const OF_MODEL = { price: null, max_output_tokens: null, first_chunk_timeout_s: null };

/** The tiers, by their names. Their models refer to providers by title. */
export class ModelTiers implements Section {
  readonly name = 'model_tiers';
  readonly properties = new Set(['provider', 'model', ...Object.keys(OF_MODEL), 'fallbacks']);

  private readonly providers: ProviderReferences;

  constructor(private readonly signalbox: Signalbox) {
    this.providers = new ProviderReferences(signalbox);
  }

  async changesFor(entries: ReadonlyMap<string, Entry>): Promise<Change[]> {
    if (entries.size === 0) return [];
    const existing = await this.existing();
    const whole = new Map<string, Entry>();
    const targets = new Map<string, Target>();
    for (const [tier, entry] of entries) {
      if (!TIERS.some((name) => name === tier)) {
        throw new Refusal(`model_tiers.${tier} is not a tier: the tiers are ${TIERS.join(', ')}.`);
      }
      const target = completed(entry, existing.get(tier)?.entry);
      whole.set(tier, target);
      targets.set(tier, await this.targetOf(tier, target));
    }
    // The id of a tier is its name.
    const set = async (tier: string): Promise<unknown> =>
      this.signalbox.tool('MODEL_TIERS_SET', { data: { [tier]: targets.get(tier) } });
    return compare(this.name, existing, whole, { create: set, update: set });
  }

  async existing(): Promise<ReadonlyMap<string, Existing>> {
    const { item } = await this.signalbox.tool('MODEL_TIERS_GET', {});
    const nameOf = await this.providers.names();
    const modelOf = ({ provider_id: id, ...rest }: Model): Entry => ({ provider: nameOf(id), ...rest });
    const found = new Map<string, Existing>();
    for (const tier of TIERS) {
      const target = item[tier];
      if (target === null) continue;
      const { fallbacks, ...first } = target;
      const entry = { ...modelOf(first), ...(fallbacks && { fallbacks: fallbacks.map(modelOf) }) };
      found.set(tier, { id: tier, entry, isManaged: true });
    }
    return found;
  }

  async delete({ id: tier }: Existing): Promise<void> {
    await this.signalbox.tool('MODEL_TIERS_SET', { data: { [tier]: null } });
  }

  /** The service replaces the whole target. @throws Refusal for a provider that is not there */
  private async targetOf(tier: string, { fallbacks, ...first }: Entry): Promise<Target> {
    const path = `model_tiers.${tier}`;
    const idOf = await this.providers.ids();
    const modelOf = (at: string, { provider, model, ...rest }: Entry): Model => {
      if (typeof model !== 'string') throw new Refusal(`${at}.model must be the name of a model.`);
      const set = Object.entries(rest).filter(([, value]) => value !== null);
      return { ...Object.fromEntries(set), model, provider_id: idOf(at, provider) } as Model;
    };
    if (fallbacks === undefined || fallbacks === null) return modelOf(path, first);
    if (!isListOfMaps(fallbacks)) throw new Refusal(`${path}.fallbacks must be a list of models.`);
    return {
      ...modelOf(path, first),
      fallbacks: fallbacks.map((model, n) => modelOf(`${path}.fallbacks[${n}]`, model)),
    };
  }
}

/** With the properties that the entry does not name, as the tier has them for this model. */
function completed(entry: Entry, found: Entry = {}): Entry {
  const isOther = ['provider', 'model'].some((key) => key in entry && entry[key] !== found[key]);
  const hasNoFallbacks = Array.isArray(entry['fallbacks']) && entry['fallbacks'].length === 0;
  return { ...found, ...(isOther && OF_MODEL), ...entry, ...(hasNoFallbacks && { fallbacks: null }) };
}

function isListOfMaps(value: unknown): value is Entry[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null);
}
