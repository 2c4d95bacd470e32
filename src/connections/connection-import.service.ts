import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { DomainError } from '../core/domain-error.js';
import { newId } from '../core/ids.js';
import type { Principal } from '../core/principal.js';
import { ConnectionCreateData, type ConnectionUpdateData } from './connection.dto.js';
import type { ConnectionEntity } from './connection.entity.js';
import type { ConnectionImportInput, ConnectionImportItem } from './connection-import.dto.js';
import { ConnectionEditor } from './connection-editor.js';
import { ConnectionPins } from './connection-pins.js';
import { ConnectionRepository } from './connection.repository.js';
import { ConnectionSecrets } from './connection-secrets.js';
import { isRecord } from '../core/is-record.js';
import { inspectInput, summarize } from '../core/validation/validate-input.js';

const MAX_NAME_LENGTH = 128;
const UNIQUE_VIOLATION = '23505';

/** Creates and updates connections from the `mcpServers` of MCP clients' configuration files. */
@Injectable()
export class ConnectionImportService {
  constructor(
    private readonly repository: ConnectionRepository,
    private readonly editor: ConnectionEditor,
    private readonly secrets: ConnectionSecrets,
    private readonly pins: ConnectionPins,
  ) {}

  /**
   * Imports the entries one by one, in their order. A refused entry does not keep the others from being imported. After
   * an error, the import can be repeated: what has been done is unchanged then.
   */
  async importServers(
    { mcpServers, dry_run: isDry = false }: ConnectionImportInput,
    caller: Principal,
  ): Promise<ConnectionImportItem[]> {
    const items: ConnectionImportItem[] = [];
    for (const [name, value] of Object.entries(mcpServers))
      items.push(await this.importEntry(name, value, isDry, caller));
    return items;
  }

  private async importEntry(
    name: string,
    value: unknown,
    isDry: boolean,
    caller: Principal,
  ): Promise<ConnectionImportItem> {
    if (name.length > MAX_NAME_LENGTH) {
      return { name, action: 'refused', reason: `The name must have at most ${MAX_NAME_LENGTH} characters.` };
    }
    const { data, reason } = readServerEntry(name, value);
    if (data === undefined) return { name, action: 'refused', reason };
    try {
      return { name, ...(await this.store(name, data, isDry, caller)) };
    } catch (error) {
      // Faults of this entry; an outage concerns all of them.
      if (!(error instanceof DomainError) || error.status >= 500) throw error;
      return { name, action: 'refused', reason: withoutPrefix(error.detail ?? error.title) };
    }
  }

  private async store(
    name: string,
    data: ConnectionCreateData,
    isDry: boolean,
    caller: Principal,
  ): Promise<Omit<ConnectionImportItem, 'name'>> {
    const organizationId = caller.organization.id;
    const stored = await this.repository.findImported(organizationId, name);
    if (stored !== null) return this.update(stored, data, isDry, caller);
    const id = newId();
    const columns = this.editor.newColumns(id, data, caller);
    if (isDry) return { action: 'create' };
    const { connection_type: connectionType, title } = data;
    try {
      const identity = { id, organizationId, connectionType, title, importName: name };
      await this.pins.begin(await this.repository.insert({ ...identity, ...columns }), caller.userId);
      return { action: 'create', id };
    } catch (error) {
      if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
      // Another import of the same name was faster.
      const other = await this.repository.findImported(organizationId, name);
      if (other === null) throw error;
      return this.update(other, data, isDry, caller);
    }
  }

  private async update(
    stored: ConnectionEntity,
    data: ConnectionCreateData,
    isDry: boolean,
    caller: Principal,
  ): Promise<Omit<ConnectionImportItem, 'name'>> {
    const { id, connectionType } = stored;
    if (connectionType !== data.connection_type) {
      const reason = `The connection has the type ${connectionType}, which cannot change; delete it first.`;
      return { action: 'refused', reason, id };
    }
    const changes = this.changesTo(stored, data);
    if (changes === undefined) return { action: 'unchanged', id };
    if (isDry) {
      this.editor.changedColumns(stored, changes, caller);
      return { action: 'update', id };
    }
    const updated = await this.repository.updateOfOrganization(stored.organizationId, id, (locked) =>
      this.editor.changedColumns(locked, changes, caller),
    );
    if (updated === null) return { action: 'refused', reason: 'The connection was deleted meanwhile.' };
    await this.pins.begin(updated, caller.userId);
    return { action: 'update', id };
  }

  /**
   * What an update has to send so that the connection is as in the entry; undefined if it is. The title belongs to its
   * editors, and so does what the files of clients cannot say.
   */
  private changesTo(stored: ConnectionEntity, data: ConnectionCreateData): ConnectionUpdateData | undefined {
    const isDisabled = stored.status === 'inactive';
    const status = isDisabled === (data.status === 'inactive') ? {} : { status: data.status ?? 'active' };
    const target =
      data.stdio === undefined ? this.addressChanges(stored, data) : this.programChanges(stored, data.stdio);
    const { shared_state = stored.sharedState } = data;
    const sharing = shared_state === stored.sharedState ? {} : { shared_state };
    const { pin = stored.pin } = data;
    const changes = { ...status, ...sharing, ...(pin !== stored.pin && { pin }), ...target };
    return Object.keys(changes).length === 0 ? undefined : changes;
  }

  private addressChanges(stored: ConnectionEntity, data: ConnectionCreateData): ConnectionUpdateData {
    const { connection_url, connection_token = null, connection_headers = null } = data;
    const { id, connectionToken: token, connectionHeaders: headers } = stored;
    const { bearerToken = null, headers: known } = this.secrets.open({
      id,
      sealed: { token, headers, oauthClientSecret: null, stdioEnv: null },
    });
    const isSame =
      stored.connectionUrl === connection_url &&
      bearerToken === connection_token &&
      isDeepStrictEqual(known, connection_headers?.headers ?? {});
    if (isSame || connection_url === undefined) return {};
    return { connection_url, connection_token, connection_headers };
  }

  private programChanges(
    stored: ConnectionEntity,
    stdio: NonNullable<ConnectionCreateData['stdio']>,
  ): ConnectionUpdateData {
    const { command, args = [], env = {}, cwd = null } = stdio;
    const known = this.secrets.openStdioEnv(stored.id, stored.stdioEnv);
    const isSame = isDeepStrictEqual(stored.stdio, { command, args, cwd }) && isDeepStrictEqual(known, env);
    return isSame ? {} : { stdio: { command, args, env, cwd } };
  }
}

const URL_NAMES = ['url', 'serverUrl', 'httpUrl'] as const;
const STDIO_TYPES = ['stdio'];
const HTTP_TYPES = ['http', 'streamable-http', 'streamable_http', 'streamableHttp'];
const BEARER = /^bearer +(\S+)$/i;
/** A placeholder that clients replace, such as `${TOKEN}` or `${input:token}`. */
const PLACEHOLDER = /\$\{[^}]*\}/;

/** An entry of `mcpServers` as the input of a new connection, or why it cannot be one. */
type ServerEntry =
  | { readonly data: ConnectionCreateData; readonly reason?: undefined }
  | { readonly data?: undefined; readonly reason: string };

/**
 * Reads an entry of `mcpServers`, as the configuration files of MCP clients have it: `command`, `args`, `env` and
 * `cwd`, or `url` (`serverUrl`, `httpUrl`) and `headers`; in addition `shared_state` and `pin`. Null counts as absent,
 * and properties of other programs are ignored. The reason never quotes a value.
 */
function readServerEntry(name: string, value: unknown): ServerEntry {
  if (!isRecord(value)) return { reason: 'The entry must be an object.' };
  const entry = Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
  const fault = faultOf(entry);
  if (fault !== undefined) return { reason: fault };
  const status = entry['disabled'] === true ? 'inactive' : 'active';
  const target = 'command' in entry ? programOf(entry) : addressOf(entry);
  const { value: data, faults } = inspectInput(ConnectionCreateData, {
    title: name,
    status,
    shared_state: entry['shared_state'],
    pin: entry['pin'],
    ...target,
  });
  return faults.length === 0 ? { data } : { reason: withoutPrefix(summarize(faults)) };
}

/** Paths begin with `data.` in the tools that create and update one connection. */
function withoutPrefix(detail: string): string {
  return detail.replace(/^data\./, '');
}

type Entry = Readonly<Record<string, unknown>>;

function faultOf(entry: Entry): string | undefined {
  const { disabled, type = entry['transport'] } = entry;
  const urls = URL_NAMES.filter((name) => name in entry);
  const isProgram = 'command' in entry;
  if (isProgram === urls.length > 0) {
    return isProgram
      ? 'The entry has both a command and an address.'
      : 'The entry has neither a command nor an address.';
  }
  if (urls.length > 1) return `The entry has several addresses: ${urls.join(', ')}.`;
  if (disabled !== undefined && typeof disabled !== 'boolean') return 'disabled must be true or false.';
  if (type === 'sse') return 'The transport HTTP+SSE is not supported; use the address for streamable HTTP.';
  if (type !== undefined && !(isProgram ? STDIO_TYPES : HTTP_TYPES).includes(String(type))) {
    return isProgram ? 'A command has the type stdio.' : 'An address has the type http.';
  }
  const used = isProgram ? ['command', 'args', 'env', 'cwd'] : [...urls, 'headers'];
  const place = used.map((name) => placeholderIn(entry[name], name)).find((found) => found !== undefined);
  return place === undefined ? undefined : `${place} has a placeholder that is not resolved.`;
}

function placeholderIn(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return PLACEHOLDER.test(value) ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    // A long name could be a secret in the wrong place.
    const memberPath = /^[\w-]{1,64}$/.test(name) ? `${path}.${name}` : path;
    const found = PLACEHOLDER.test(name) ? path : placeholderIn(member, memberPath);
    if (found !== undefined) return found;
  }
  return undefined;
}

function programOf({ command, args, env, cwd }: Entry): object {
  const stdio = { command, ...(args !== undefined && { args }), ...(env !== undefined && { env }), cwd: cwd ?? null };
  return { connection_type: 'STDIO', stdio };
}

/** A bearer token among the headers becomes the token of the connection. */
function addressOf(entry: Entry): object {
  const url = URL_NAMES.map((name) => entry[name]).find((value) => value !== undefined);
  const { headers = {} } = entry;
  const address = { connection_type: 'HTTP', connection_url: url };
  if (!isRecord(headers)) return { ...address, connection_headers: { headers } };
  const names = Object.keys(headers);
  const authorization = names.find((name) => name.toLowerCase() === 'authorization');
  const value = authorization === undefined ? undefined : headers[authorization];
  const token = typeof value === 'string' ? BEARER.exec(value)?.[1] : undefined;
  const others = names.filter((name) => token === undefined || name !== authorization);
  return {
    ...address,
    connection_token: token ?? null,
    connection_headers:
      others.length === 0 ? null : { headers: Object.fromEntries(others.map((name) => [name, headers[name]])) },
  };
}
