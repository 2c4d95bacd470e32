import type { ToolOutput } from '../../../client/src/api.js';
import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import { byName } from './section.js';

type Provider = ToolOutput<'AI_PROVIDER_LIST'>['items'][number];

/** The AI providers that the models of tiers refer to: by title, or by id, as where several have the same title. */
export class ProviderReferences {
  /** Nothing here changes a provider, so they are read once. */
  private known: Promise<readonly Provider[]> | undefined;

  constructor(private readonly signalbox: Signalbox) {}

  /** The name of the provider with each id. */
  async names(): Promise<(id: string) => string> {
    const names = new Map([...byName(await this.providers())].map(([name, { id }]) => [id, name]));
    return (id) => names.get(id) ?? id;
  }

  /** The id of the provider with each name. @throws Refusal if the service has no such provider, or several */
  async ids(): Promise<(entry: string, name: unknown) => string> {
    const providers = await this.providers();
    return (entry, name) => {
      if (typeof name !== 'string') throw new Refusal(`${entry}.provider must be the title of a provider.`);
      const found = providers.filter(({ id, title }) => id === name || title === name);
      const [provider, other] = found;
      if (provider === undefined) throw new Refusal(`${entry}: there is no provider "${name}".`);
      if (other !== undefined) throw new Refusal(`${entry}: several providers have the title "${name}". Use an id.`);
      return provider.id;
    };
  }

  private providers(): Promise<readonly Provider[]> {
    return (this.known ??= this.signalbox.tool('AI_PROVIDER_LIST', {}).then(({ items }) => items));
  }
}
