import type { Signalbox } from '../../../client/src/signalbox.js';
import { Refusal } from '../service.js';
import type { Entry } from './manifest.js';
import type { Change, Existing, Section } from './section.js';

/**
 * Connections, which `CONNECTION_IMPORT` compares and writes: it alone can compare secrets. Only connections that an
 * import has made are managed. Others can be referred to by their titles.
 */
export class Connections implements Section {
  readonly name = 'connections';
  readonly properties = new Set([
    'url',
    'token',
    'headers',
    'command',
    'args',
    'env',
    'cwd',
    'disabled',
    'shared_state',
    'pin',
  ]);

  /** Read once until something changes: the plan, agents, roles and schedules all look names up here. */
  private known: Promise<ReadonlyMap<string, Existing>> | undefined;

  constructor(private readonly signalbox: Signalbox) {}

  async changesFor(entries: ReadonlyMap<string, Entry>): Promise<Change[]> {
    if (entries.size === 0) return [];
    const mcpServers = Object.fromEntries([...entries].map(([name, entry]) => [name, serverOf(entry)]));
    const { items } = await this.signalbox.tool('CONNECTION_IMPORT', { mcpServers, dry_run: true });
    const refused = items.filter(({ action }) => action === 'refused');
    if (refused.length > 0) {
      throw new Refusal(refused.map(({ name, reason }) => `connections.${name}: ${reason ?? 'refused'}`).join('\n'));
    }
    return items.flatMap(({ name, action }): Change[] => {
      if (action !== 'create' && action !== 'update') return [];
      return [{ action, section: this.name, name, properties: [], make: () => this.import(name, mcpServers[name]) }];
    });
  }

  existing(): Promise<ReadonlyMap<string, Existing>> {
    return (this.known ??= this.read());
  }

  async delete({ id }: Existing): Promise<void> {
    this.known = undefined;
    await this.signalbox.tool('COLLECTION_CONNECTIONS_DELETE', { id });
  }

  private async read(): Promise<ReadonlyMap<string, Existing>> {
    const found = new Map<string, Existing>();
    const titles = new Map<string, string[]>();
    for await (const connection of this.signalbox.list('COLLECTION_CONNECTIONS_LIST', { limit: 100 })) {
      if (connection.connection_type === 'VIRTUAL') continue;
      const { id, title, import_name: name } = connection;
      if (name !== null && name !== undefined)
        found.set(name, { id, entry: exported(name, connection), isManaged: true });
      else titles.set(title, [...(titles.get(title) ?? []), id]);
    }
    for (const [title, [id, other]] of titles) {
      if (id !== undefined && other === undefined && !found.has(title))
        found.set(title, { id, entry: {}, isManaged: false });
    }
    return found;
  }

  private async import(name: string, server: unknown): Promise<void> {
    this.known = undefined;
    const { items } = await this.signalbox.tool('CONNECTION_IMPORT', { mcpServers: { [name]: server } });
    const [item] = items;
    if (item?.action === 'refused') throw new Refusal(`connections.${name}: ${item.reason ?? 'refused'}`);
  }
}

/** The entry in the form of an MCP client's configuration. */
function serverOf({ token, headers, shared_state = false, ...others }: Entry): Record<string, unknown> {
  const rest = { ...others, shared_state };
  const authorization = typeof token === 'string' ? { Authorization: `Bearer ${token}` } : {};
  if (headers === undefined && token === undefined) return rest;
  return { ...rest, headers: { ...(headers as object | undefined), ...authorization } };
}

/** Secrets become the names of variables. */
function exported(
  name: string,
  {
    connection_url: url,
    connection_token: token,
    connection_headers: headers,
    stdio,
    status,
    shared_state: sharesState,
    pin,
  }: {
    connection_url?: string | null;
    connection_token?: string | null;
    connection_headers?: { headers: Record<string, unknown> } | null;
    stdio?: { command: string; args: string[]; env: Record<string, unknown>; cwd?: string | null } | null;
    status: string;
    shared_state?: boolean;
    pin?: string;
  },
): Entry {
  const variables = (keys: Record<string, unknown>): Record<string, string> =>
    Object.fromEntries(Object.keys(keys).map((key) => [key, variable(name, key)]));
  const headerNames = headers?.headers ?? {};
  return {
    ...(url ? { url } : {}),
    ...(token ? { token: variable(name, 'token') } : {}),
    ...(Object.keys(headerNames).length > 0 ? { headers: variables(headerNames) } : {}),
    ...(stdio ? { command: stdio.command, args: stdio.args } : {}),
    ...(stdio && Object.keys(stdio.env).length > 0 ? { env: variables(stdio.env) } : {}),
    ...(stdio?.cwd ? { cwd: stdio.cwd } : {}),
    ...(status === 'inactive' ? { disabled: true } : {}),
    ...(sharesState === true ? { shared_state: true } : {}),
    ...(pin !== undefined && pin !== 'off' ? { pin } : {}),
  };
}

function variable(...words: string[]): string {
  return `\${${words
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')}}`;
}
