import type { ToolInput } from '../../../client/src/api.js';
import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import type { Entry, Manifest } from './manifest.js';
import { byName, compare, type Change, type Existing, type Section } from './section.js';
import { withWholeSpend } from './whole-spend.js';

type AgentData = ToolInput<'COLLECTION_VIRTUAL_MCP_CREATE'>['data'];

type ConnectionData = NonNullable<AgentData['connections']>[number];

/** A connection of an agent; a string in the manifest is short for its name. */
interface Use {
  readonly connection: string;
  readonly tools?: ConnectionData['selected_tools'];
  readonly prefix?: string | null;
  readonly approval?: ConnectionData['approval'];
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const COPIED = [
  'slug',
  'description',
  'instructions',
  'tier',
  'max_steps',
  'history',
  'approval_timeout',
  'spend',
  'tool_mode',
  'pinned_tools',
  'output_schema',
  'webhook_output',
  'expose_run',
  'ask_timeout_s',
  'status',
] as const;

/** Agents, by their titles, or by their ids where several have the same title. They refer to connections by name. */
export class Agents implements Section {
  readonly name = 'agents';
  readonly properties = new Set<string>([...COPIED, 'connections']);

  constructor(
    private readonly signalbox: Signalbox,
    private readonly connections: Section,
  ) {}

  async changesFor(entries: ReadonlyMap<string, Entry>, manifest: Manifest): Promise<Change[]> {
    const normal = new Map([...entries].map(([name, entry]) => [name, normalized(name, entry)]));
    const connections = await this.connections.existing();
    const agents = await this.read();
    const existing = byName(agents);
    for (const [title, { connections: uses = [] }] of normal) {
      if (!existing.has(title) && agents.some((agent) => agent.title === title)) {
        throw new Refusal(`agents.${title}: several agents have this title. Rename them, or use an id as the name.`);
      }
      if (!existing.has(title) && UUID.test(title)) {
        throw new Refusal(`agents.${title}: no agent with this id shares its title with another. Use the title.`);
      }
      for (const { connection } of uses as Use[]) {
        if (connections.has(connection) || manifest.get(this.connections.name)?.has(connection)) continue;
        throw noConnection(title, connection);
      }
    }
    return compare(this.name, existing, normal, {
      create: async (title, entry) =>
        this.signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { ...(await this.dataOf(title, entry)), title } }),
      update: async (id, title, entry) =>
        this.signalbox.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data: await this.dataOf(title, entry) }),
    });
  }

  async existing(): Promise<ReadonlyMap<string, Existing>> {
    return byName(await this.read());
  }

  private async read(): Promise<(Existing & { readonly title: string })[]> {
    const names = new Map([...(await this.connections.existing())].map(([name, { id }]) => [id, name]));
    const found: (Existing & { readonly title: string })[] = [];
    for await (const agent of this.signalbox.list('COLLECTION_VIRTUAL_MCP_LIST', { limit: 100 })) {
      const uses = agent.connections.map((use): Use => ({
        connection: names.get(use.connection_id) ?? use.connection_id,
        ...(use.selected_tools ? { tools: use.selected_tools } : {}),
        ...(use.prefix ? { prefix: use.prefix } : {}),
        ...(use.approval === 'none' ? {} : { approval: use.approval }),
      }));
      const copied = COPIED.filter((key) => agent[key] !== null).map((key) => [key, agent[key]]);
      const entry = {
        ...Object.fromEntries(copied),
        // Nobody sets the status of an agent that lacks connections.
        ...(agent.status === 'error' ? { status: 'active' } : {}),
        ...(uses.length > 0 ? { connections: uses } : {}),
      };
      found.push({ id: agent.id, title: agent.title, entry, isManaged: true });
    }
    return found;
  }

  async delete({ id }: Existing): Promise<void> {
    await this.signalbox.tool('COLLECTION_VIRTUAL_MCP_DELETE', { id });
  }

  private async dataOf(title: string, { connections, ...entry }: Entry): Promise<Partial<AgentData>> {
    const rest = withWholeSpend(entry);
    if (connections === undefined) return rest;
    const existing = await this.connections.existing();
    return {
      ...rest,
      connections: (connections as Use[]).map(({ connection, tools = null, prefix = null, approval = 'none' }) => {
        const id = existing.get(connection)?.id;
        if (id === undefined) throw noConnection(title, connection);
        return { connection_id: id, selected_tools: tools, prefix, approval };
      }),
    };
  }
}

function noConnection(title: string, connection: string): Refusal {
  return new Refusal(`agents.${title}: there is no connection "${connection}".`);
}

/** Without an `approval` that changes nothing. */
function withoutDefaults({ approval = 'none', ...rest }: Use): Use {
  return approval === 'none' ? rest : { ...rest, approval };
}

function normalized(name: string, { connections, ...rest }: Entry): Entry {
  if (connections === undefined || connections === null) return rest;
  if (!Array.isArray(connections)) throw new Refusal(`agents.${name}.connections must be a list.`);
  const uses = connections.map((use: unknown): Use => {
    if (typeof use === 'string') return { connection: use };
    if (typeof use === 'object' && use !== null && 'connection' in use) return withoutDefaults(use as Use);
    throw new Refusal(`agents.${name}.connections: an entry is a name, or has a "connection".`);
  });
  return { ...rest, connections: uses };
}
