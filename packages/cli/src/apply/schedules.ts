import type { ToolInput } from '../../../client/src/api.js';
import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import { AgentReferences } from './agent-references.js';
import type { Entry, Manifest } from './manifest.js';
import { compare, type Change, type Existing, type Section } from './section.js';

type ScheduleData = ToolInput<'SCHEDULE_CREATE'>['data'];

const COPIED = ['cron', 'timezone', 'message', 'thread_id', 'tier', 'overlap', 'catch_up', 'enabled'] as const;

/** Schedules, by their titles. They refer to their agents by name. */
export class Schedules implements Section {
  readonly name = 'schedules';
  readonly properties = new Set<string>([...COPIED, 'agent']);

  private readonly agents: AgentReferences;

  constructor(
    private readonly signalbox: Signalbox,
    agents: Section,
  ) {
    this.agents = new AgentReferences(this.name, agents);
  }

  async changesFor(entries: ReadonlyMap<string, Entry>, manifest: Manifest): Promise<Change[]> {
    const check = await this.agents.checkFor(manifest);
    for (const [title, { agent }] of entries) {
      if (typeof agent !== 'string') throw new Refusal(`schedules.${title}.agent must be the title of an agent.`);
      check(title, agent);
    }
    return compare(this.name, await this.existing(), entries, {
      create: async (title, entry) =>
        this.signalbox.tool('SCHEDULE_CREATE', {
          data: { ...(await this.dataOf(title, entry)), title } as ScheduleData,
        }),
      update: async (id, title, entry) =>
        this.signalbox.tool('SCHEDULE_UPDATE', { id, data: await this.dataOf(title, entry) }),
    });
  }

  async existing(): Promise<ReadonlyMap<string, Existing>> {
    const titles = await this.agents.titles();
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
    const idOf = await this.agents.idOf(title);
    return { ...rest, virtual_mcp_id: idOf(String(agent)) };
  }
}
