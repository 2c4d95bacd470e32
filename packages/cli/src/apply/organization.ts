import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import type { Entry } from './manifest.js';
import { compare, type Change, type Existing, type Section } from './section.js';
import { withWholeSpend } from './whole-spend.js';

const LIMITS = 'limits';

/** The settings of the organization itself: one entry, its limits. */
export class Organization implements Section {
  readonly name = 'organization';
  readonly properties = new Set([
    'requests_per_minute',
    'runs_per_minute',
    'concurrent_runs',
    'waiting_runs',
    'file_bytes',
    'spend',
  ]);

  constructor(private readonly signalbox: Signalbox) {}

  async changesFor(entries: ReadonlyMap<string, Entry>): Promise<Change[]> {
    if (entries.size === 0) return [];
    for (const name of entries.keys()) {
      if (name !== LIMITS) throw new Refusal(`organization.${name} is not an entry: the only one is ${LIMITS}.`);
    }
    const set = async (entry: Entry): Promise<unknown> =>
      this.signalbox.tool('ORGANIZATION_UPDATE', { limits: withWholeSpend(entry) });
    return compare(this.name, await this.existing(), entries, {
      create: (_name, entry) => set(entry),
      update: (_id, _name, entry) => set(entry),
    });
  }

  /** The limits exist even if none is set; only then is there nothing to export or to delete. */
  async existing(): Promise<ReadonlyMap<string, Existing>> {
    const { item } = await this.signalbox.tool('ORGANIZATION_GET', {});
    const entry = { ...item.limits };
    return new Map([[LIMITS, { id: item.id, entry, isManaged: Object.keys(entry).length > 0 }]]);
  }

  async delete(): Promise<void> {
    await this.signalbox.tool('ORGANIZATION_UPDATE', { limits: null });
  }
}
