import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';

/** The AI providers that the models of tiers refer to: by title, or by id where two have the same title. */
export class ProviderReferences {
  /** Nothing here changes a provider, so they are read once. */
  private known: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(private readonly signalbox: Signalbox) {}

  /** The name of the provider with each id. */
  async names(): Promise<(id: string) => string> {
    const names = new Map([...(await this.ids())].map(([name, id]) => [id, name]));
    return (id) => names.get(id) ?? id;
  }

  /** The id of the provider with each name. @throws Refusal if the service has no such provider */
  async idOf(entry: string): Promise<(name: unknown) => string> {
    const ids = await this.ids();
    return (name) => {
      if (typeof name !== 'string') throw new Refusal(`${entry}.provider must be the title of a provider.`);
      const id = ids.get(name);
      if (id === undefined) throw new Refusal(`${entry}: there is no provider "${name}".`);
      return id;
    };
  }

  private ids(): Promise<ReadonlyMap<string, string>> {
    return (this.known ??= this.read());
  }

  private async read(): Promise<ReadonlyMap<string, string>> {
    const { items } = await this.signalbox.tool('AI_PROVIDER_LIST', {});
    const isUnique = (title: string): boolean => items.filter((item) => item.title === title).length === 1;
    return new Map(items.map(({ id, title }) => [isUnique(title) ? title : id, id]));
  }
}
