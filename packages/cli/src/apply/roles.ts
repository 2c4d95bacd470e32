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

  async changesFor(entries: ReadonlyMap<string, Entry>): Promise<Change[]> {
    return compare(this.name, await this.existing(), entries, {
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

  /** The ids of connections and agents by name, without names that could be mistaken. */
  private async ids(): Promise<Map<string, string>> {
    const ids = new Map<string, string>();
    const ambiguous = new Set(['self', '*']);
    for (const place of this.places) {
      for (const [name, { id }] of await place.existing()) {
        if (ids.has(name)) ambiguous.add(name);
        ids.set(name, id);
      }
    }
    // Permissions for these are written with the id.
    for (const name of ambiguous) ids.delete(name);
    return ids;
  }
}

function renamed(permissions: PermissionMap, names: ReadonlyMap<string, string>): PermissionMap {
  return Object.fromEntries(Object.entries(permissions).map(([place, tools]) => [names.get(place) ?? place, tools]));
}
