import { Injectable } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { ToolPins } from '../pins/tool-pins.js';
import { UpstreamHealth } from '../pool/upstream-health.js';
import { UpstreamPool } from '../pool/upstream-pool.js';
import { UpstreamTargets } from '../pool/upstream-targets.js';

/** Lists the tools of upstreams. */
@Injectable()
export class ToolLister {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly targets: UpstreamTargets,
    private readonly pool: UpstreamPool,
    private readonly health: UpstreamHealth,
    private readonly pins: ToolPins,
  ) {}

  /**
   * Requests the upstream's tools, stores them as the last known ones, and records those that are not approved.
   * @throws DomainError `connection_unavailable`, UpstreamError
   */
  async list(connection: Connection, signal?: AbortSignal): Promise<UpstreamTool[]> {
    const target = this.targets.targetFor(connection);
    const tools = await this.health.watchCall(connection, () =>
      this.pool.use(target, (upstream) => upstream.listTools(signal)),
    );
    await this.pins.recordList(connection, tools);
    await this.directory.rememberTools(connection, tools);
    return tools;
  }
}
