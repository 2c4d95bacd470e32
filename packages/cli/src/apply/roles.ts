import type { Signalbox } from '../../../client/src/signalbox.js';
import type { Entry } from './manifest.js';
import { compare, type Change, type Existing, type Section } from './section.js';

type PermissionMap = Record<string, string[]>;

/** Custom roles. Their permissions refer to connections and agents by name, besides `self` and `*`. */
export class Roles implements Section {
  readonly name = 'roles';
  readonly properties = new Set(['permissions']);

  constructor(
    private readonly signalbox: Signalbox,
    private readonly places: readonly Section[],
  ) {}

  changesFor(entries: ReadonlyMap<string, Entry>): Promise<Change[]> {
    return compare(this, entries, {
      create: async (name, entry) =>
        this.signalbox.tool('ROLE_CREATE', { name, permissions: await this.withIds(entry) }),
      update: async (_id, name, entry) =>
        this.signalbox.tool('ROLE_UPDATE', { name, permissions: await this.withIds(entry) }),
    });
  }

  async existing(): Promise<ReadonlyMap<string, Existing>> {
    const names = new Map([...(await this.ids())].map(([name, id]) => [id, name]));
    const { items } = await this.signalbox.tool('ROLE_LIST', {});
    return new Map(
      items
        .filter(({ built_in: isBuiltIn }) => !isBuiltIn)
        .map(({ name, permissions }) => {
          const entry = { permissions: renamed(permissions as PermissionMap, names) };
          return [name, { id: name, entry, isManaged: true }];
        }),
    );
  }

  async delete({ id: name }: Existing): Promise<void> {
    await this.signalbox.tool('ROLE_DELETE', { name });
  }

  private async withIds({ permissions = {} }: Entry): Promise<PermissionMap> {
    return renamed(permissions as PermissionMap, await this.ids());
  }

  /** The ids of all connections and agents, by name. */
  private async ids(): Promise<Map<string, string>> {
    const all = await Promise.all(this.places.map((place) => place.existing()));
    return new Map(all.flatMap((existing) => [...existing].map(([name, { id }]) => [name, id] as const)));
  }
}

function renamed(permissions: PermissionMap, names: ReadonlyMap<string, string>): PermissionMap {
  return Object.fromEntries(Object.entries(permissions).map(([place, tools]) => [names.get(place) ?? place, tools]));
}
