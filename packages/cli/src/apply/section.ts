import type { Entry, Manifest } from './manifest.js';

/** What exists in the organization under a name. */
export interface Existing {
  readonly id: string;
  /** In the form of the manifest, with all properties that can be read. */
  readonly entry: Entry;
  /** `--prune` may delete it. */
  readonly isManaged: boolean;
}

/** A change that a plan consists of. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete';
  readonly section: string;
  readonly name: string;
  /** The properties that change. Values are not shown: they can be secrets. */
  readonly properties: readonly string[];
  /** Makes the change. */
  make(): Promise<void>;
}

/** One section of the manifest: how its entries are read and written. */
export interface Section {
  readonly name: string;
  readonly properties: ReadonlySet<string>;
  /** What creates and updates the section's entries need. @throws Refusal for a reference to what is not there */
  changesFor(entries: ReadonlyMap<string, Entry>, manifest: Manifest): Promise<Change[]>;
  /** Everything there is, by name. @throws Refusal if two have the same name */
  existing(): Promise<ReadonlyMap<string, Existing>>;
  delete(existing: Existing): Promise<void>;
}

/** The items by their titles, or by their ids where several have the same title. */
export function byName<T extends { readonly id: string; readonly title: string }>(items: readonly T[]): Map<string, T> {
  const titles = items.map(({ title }) => title).toSorted();
  const shared = new Set(titles.filter((title, index) => title === titles[index - 1]));
  return new Map(items.map((item) => [shared.has(item.title) ? item.id : item.title, item]));
}

/** Properties with an order that counts: models answer in that of their schema. */
const ORDERED: ReadonlySet<string> = new Set(['output_schema']);

/** Creates and updates of a section whose existing entries can be compared. */
export function compare(
  section: string,
  existing: ReadonlyMap<string, Existing>,
  entries: ReadonlyMap<string, Entry>,
  write: {
    create(name: string, entry: Entry): Promise<unknown>;
    update(id: string, name: string, entry: Entry): Promise<unknown>;
  },
): Change[] {
  return [...entries].flatMap(([name, entry]): Change[] => {
    const found = existing.get(name);
    const properties = Object.keys(entry).filter((key) => {
      const isSame = ORDERED.has(key) ? isSameText : isEqual;
      return !isSame(entry[key], found?.entry[key]);
    });
    const change = { section, name, properties };
    if (found === undefined) {
      return [{ ...change, action: 'create', make: async () => void (await write.create(name, entry)) }];
    }
    if (properties.length === 0) return [];
    return [{ ...change, action: 'update', make: async () => void (await write.update(found.id, name, entry)) }];
  });
}

function isSameText(one: unknown = null, other: unknown = null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Equal as JSON, whatever the order of the keys. Absent and `null` are the same. */
function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null && item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
