import type { ToolInput } from '../../../client/src/api.js';
import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import { printable, say } from '../terminal.js';
import { AgentReferences } from './agent-references.js';
import type { Entry, Manifest } from './manifest.js';
import { compare, type Change, type Existing, type Section } from './section.js';

type WebhookData = ToolInput<'WEBHOOK_CREATE'>['data'];

const COPIED = ['events', 'enabled'] as const;

/**
 * Webhooks, by their addresses, since the service knows no other name for them: an entry is called by its address, or
 * has a name for the plan and a `url`. They refer to agents by name. The service makes the signing secrets; a manifest
 * never has one.
 */
export class Webhooks implements Section {
  readonly name = 'webhooks';
  readonly properties = new Set<string>([...COPIED, 'url', 'agents']);

  /** The names of the manifest's webhooks by their addresses. */
  private names: ReadonlyMap<string, string> = new Map();

  private readonly agents: AgentReferences;

  constructor(
    private readonly signalbox: Signalbox,
    agents: Section,
  ) {
    this.agents = new AgentReferences(this.name, agents);
  }

  async changesFor(entries: ReadonlyMap<string, Entry>, manifest: Manifest): Promise<Change[]> {
    this.names = namesOf(entries);
    const addresses = new Map([...this.names].map(([address, name]) => [name, address]));
    const check = await this.agents.checkFor(manifest);
    for (const [name, { agents }] of entries) for (const agent of titlesOf(name, agents) ?? []) check(name, agent);
    const withoutUrl = new Map([...entries].map(([name, { url: _url, ...entry }]) => [name, entry]));
    return compare(this.name, await this.existing(), withoutUrl, {
      create: async (name, entry) => {
        const data = { ...(await this.dataOf(name, entry)), url: addresses.get(name) } as WebhookData;
        const { secret } = await this.signalbox.tool('WEBHOOK_CREATE', { data });
        say(printable(`webhooks.${name} signs with this secret, which is not shown again:`));
        say(`  ${secret}`);
      },
      update: async (id, name, entry) =>
        this.signalbox.tool('WEBHOOK_UPDATE', { id, data: await this.dataOf(name, entry) }),
    });
  }

  async existing(): Promise<ReadonlyMap<string, Existing>> {
    const titles = await this.agents.titles();
    const found = new Map<string, Existing>();
    for await (const { id, url, agent_ids: agentIds, ...rest } of this.signalbox.list('WEBHOOK_LIST', { limit: 100 })) {
      const name = this.names.get(url) ?? url;
      if (found.has(name)) throw new Refusal(`Two webhooks have the address ${url}. Delete one of them.`);
      const copied = COPIED.map((key) => [key, rest[key]]);
      const agents = agentIds === null ? {} : { agents: agentIds.map((agent) => titles.get(agent) ?? agent) };
      found.set(name, { id, entry: { ...Object.fromEntries(copied), ...agents }, isManaged: true });
    }
    return found;
  }

  async delete({ id }: Existing): Promise<void> {
    await this.signalbox.tool('WEBHOOK_DELETE', { id });
  }

  private async dataOf(name: string, { agents, ...rest }: Entry): Promise<Partial<WebhookData>> {
    const titles = titlesOf(name, agents);
    if (titles === undefined) return rest;
    return { ...rest, agent_ids: titles?.map(await this.agents.idOf(name)) ?? null };
  }
}

/** The name of each entry by its address, in the form in which the service stores addresses. */
function namesOf(entries: ReadonlyMap<string, Entry>): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, { url }] of entries) {
    if (url !== undefined && URL.canParse(name)) {
      throw new Refusal(`webhooks.${name}: the name is an address. Leave out its url, or choose another name.`);
    }
    const text = url ?? name;
    if (typeof text !== 'string' || !URL.canParse(text)) {
      throw new Refusal(`webhooks.${name}: the name must be the address of the webhook, or url must be one.`);
    }
    const address = new URL(text).href;
    const other = names.get(address);
    if (other !== undefined) throw new Refusal(`webhooks.${name} and webhooks.${other} have the same address.`);
    names.set(address, name);
  }
  return names;
}

/** null stands for all agents, undefined for what the service has. */
function titlesOf(name: string, agents: unknown): string[] | null | undefined {
  if (agents === undefined || agents === null) return agents;
  if (Array.isArray(agents) && agents.every((agent) => typeof agent === 'string')) return agents;
  throw new Refusal(`webhooks.${name}.agents must be a list of titles of agents.`);
}
