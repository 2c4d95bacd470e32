import { Injectable } from '@nestjs/common';
import { newId } from '../common/ids.js';
import type { Principal } from '../common/principal.js';
import type { Connection } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.service.js';
import type { ConnectionCheck } from '../upstreams/connection-tester.service.js';
import { AgentToolset } from './agent-toolset.service.js';
import { AgentsService } from './agents.service.js';

/** Tests agents: composes their tools as a run would. */
@Injectable()
export class AgentTester {
  constructor(
    private readonly agents: AgentsService,
    private readonly toolset: AgentToolset,
    private readonly directory: ConnectionDirectory,
  ) {}

  /** An agent is at fault as long as one of its connections is; it still has the tools of the others. */
  async test(connection: Connection, { userId, apiKeyId }: Principal): Promise<ConnectionCheck> {
    const start = performance.now();
    const agent = await this.agents.findForRun(connection.organizationId, connection.id);
    const { tools, unavailable } = await this.toolset.open(
      connection.organizationId,
      { id: connection.id, connections: agent?.connections ?? [] },
      { caller: { userId, apiKeyId, requestId: newId() } },
    );
    const latencyMs = Math.round(performance.now() - start);
    const faults = unavailable.map(({ title, reason }) => `${title}: ${reason}`);
    const fault = faults.length === 0 ? undefined : faults.join(' ');
    await this.directory.recordHealth(connection, fault);
    return { latencyMs, tools: tools.length, protocolVersion: null, fault };
  }
}
