import { Injectable, Logger } from '@nestjs/common';
import { ConnectionChanges } from '../connections/connection-changes.js';
import { ConnectionDirectory } from '../connections/connection-directory.service.js';
import { UpstreamPool } from './upstream-pool.js';

/** Lets go of the upstream of a connection that this process deletes or switches off; elsewhere it goes when it is idle. */
@Injectable()
export class PoolUpkeep {
  private readonly logger = new Logger(PoolUpkeep.name);

  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly pool: UpstreamPool,
    changes: ConnectionChanges,
  ) {
    changes.onChange((connectionId) => void this.look(connectionId));
  }

  private async look(connectionId: string): Promise<void> {
    try {
      const connection = await this.directory.findAnywhere(connectionId);
      if (connection === undefined || connection.status === 'inactive') this.pool.evict(connectionId);
    } catch (error) {
      this.logger.debug({ connection_id: connectionId, err: error }, 'A changed connection could not be looked at');
    }
  }
}
