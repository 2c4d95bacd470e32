import type { ToolInput } from '../../../client/src/api.js';
import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import type { Entry, Manifest } from './manifest.js';
import { compare, type Change, type Existing, type Section } from './section.js';

type ScheduleData = ToolInput<'SCHEDULE_CREATE'>['data'];

const COPIED = ['cron', 'timezone', 'message', 'thread_id', 'tier', 'overlap', 'catch_up', 'enabled'] as const;

/** Schedules, by their titles. They refer to their agents by name. */
export class Schedules implements Section {
  readonly name = 'schedules';
  readonly properties = new Set<string>([...COPIED, 'agent']);

  constructor(
    private readonly signalbox: Signalbox,
    private readonly agents: Section,
  ) {}

  async changesFor(entries: ReadonlyMap<string, Entry>, manifest: Manifest): Promise<Change[]> {
    const existing = await this.agents.existing();
    for (const [title, { agent }] of entries) {
      if (typeof agent !== 'string') throw new Refusal(`schedules.${title}.agent must be the title of an agent.`);
      if (existing.has(agent) || manifest.get(this.agents.name)?.has(agent)) continue;
      throw noAgent(title, agent);
    }
    return compare(this, entries, {
      create: async (title, entry) =>
        this.signalbox.tool('SCHEDULE_CREATE', {
          data: { ...(await this.dataOf(title, entry)), title } as ScheduleData,
        }),
      update: async (id, title, entry) =>
        this.signalbox.tool('SCHEDULE_UPDATE', { id, data: await this.dataOf(title, entry) }),
    });
  }

  async existing(): Promise<ReadonlyMap<string, Existing>> {
    const titles = new Map([...(await this.agents.existing())].map(([title, { id }]) => [id, title]));
    const found = new Map<string, Existing>();
    for await (const schedule of this.signalbox.list('SCHEDULE_LIST', { limit: 100 })) {
      if (found.has(schedule.title)) {
        throw new Refusal(`Two schedules have the title "${schedule.title}". Rename one of them.`);
      }
      const copied = COPIED.filter((key) => schedule[key] !== null).map((key) => [key, schedule[key]]);
      const agent = titles.get(schedule.virtual_mcp_id) ?? schedule.virtual_mcp_id;
      found.set(schedule.title, { id: schedule.id, entry: { agent, ...Object.fromEntries(copied) }, isManaged: true });
    }
    return found;
  }

  async delete({ id }: Existing): Promise<void> {
    await this.signalbox.tool('SCHEDULE_DELETE', { id });
  }

  private async dataOf(title: string, { agent, ...rest }: Entry): Promise<Partial<ScheduleData>> {
    const id = (await this.agents.existing()).get(String(agent))?.id;
    if (id === undefined) throw noAgent(title, String(agent));
    return { ...rest, virtual_mcp_id: id };
  }
}

function noAgent(title: string, agent: string): Refusal {
  return new Refusal(`schedules.${title}: there is no agent "${agent}".`);
}
