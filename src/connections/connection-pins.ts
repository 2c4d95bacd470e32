import { Injectable } from '@nestjs/common';
import { type Connection, connectionFor } from './connection.js';
import type { ConnectionEntity } from './connection.entity.js';
import { ConnectionDirectory } from './connection-directory.js';

type Approver = (connection: Connection) => Promise<void>;

/**
 * Approves the tools with which the pin of a connection begins. The module that lists tools registers how, because it
 * imports this one.
 */
@Injectable()
export class ConnectionPins {
  private approve: Approver | undefined;

  constructor(private readonly directory: ConnectionDirectory) {}

  /** @param approve approves the tools that the connection lists; resolves also if it cannot list them */
  onBegin(approve: Approver): void {
    this.approve = approve;
  }

  /** Call after a connection was written. @param userId whose account at the upstream is used */
  async begin({ id, pin, pinnedAt }: ConnectionEntity, userId: string | null): Promise<void> {
    if (pin === 'off' || pinnedAt !== null) return;
    const connection = await this.directory.findAnywhere(id);
    if (connection !== undefined) await this.approve?.(connectionFor(connection, userId));
  }
}
