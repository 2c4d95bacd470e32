import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { DomainError } from '../core/domain-error.js';
import { newId } from '../core/ids.js';
import type { Principal } from '../core/principal.js';
import type { ConnectionCreateData, ConnectionUpdateData } from './connection.dto.js';
import type { ConnectionEntity } from './connection.entity.js';
import type { ConnectionImportInput, ConnectionImportItem } from './connection-import.dto.js';
import { ConnectionEditor } from './connection-editor.js';
import { ConnectionPins } from './connection-pins.js';
import { ConnectionRepository } from './connection.repository.js';
import { ConnectionSecrets } from './connection-secrets.js';
import { readServerEntry, withoutPrefix } from './server-entry.js';

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
