import { Injectable } from '@nestjs/common';
import { ManagementTool, UPDATES } from '../core/tools/management-tool.js';
import type { Principal } from '../core/principal.js';
import { ConnectionIdInput } from '../connections/connection.dto.js';
import { ConnectionDirectory } from '../connections/connection-directory.js';
import { ConnectionTester } from '../upstreams/pool/connection-tester.js';
import { AgentTester } from './agent-tester.js';
import { IsBoolean, IsInt, IsString } from 'class-validator';
import { MayBeAbsent, MayBeNull } from '../core/validation/presence.js';

/** The result of CONNECTION_TEST. */
class ConnectionTested {
  @IsBoolean()
  ok: boolean;

  /** Duration of the test in milliseconds. */
  @IsInt()
  latency_ms: number;

  /** Number of listed tools. */
  @IsInt()
  tools: number;

  /** The negotiated MCP revision; null for an agent, and when no revision was negotiated. */
  @MayBeNull()
  @IsString()
  protocol_version: string | null;

  /** Why the test failed, in a sentence. */
  @MayBeAbsent()
  @IsString()
  error?: string;
}

/** Part of the agents module because testing an agent composes it. */
@Injectable()
export class ConnectionTestTools {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly connections: ConnectionTester,
    private readonly agents: AgentTester,
  ) {}

  @ManagementTool({
    name: 'CONNECTION_TEST',
    description:
      'Connects to the upstream of a connection, lists its tools and updates its status. An inactive connection ' +
      'stays inactive. For an agent (VIRTUAL), all of its connections are listed.',
    input: ConnectionIdInput,
    output: ConnectionTested,
    annotations: UPDATES,
  })
  async test({ id }: ConnectionIdInput, caller: Principal): Promise<ConnectionTested> {
    const connection = await this.directory.requireConnection(caller.organization.id, id, caller.userId);
    const isAgent = connection.type === 'VIRTUAL';
    const check = await (isAgent ? this.agents.test(connection) : this.connections.test(connection));
    const { fault, latencyMs, tools, protocolVersion } = check;
    return {
      ok: fault === undefined,
      latency_ms: latencyMs,
      tools,
      protocol_version: protocolVersion,
      ...(fault === undefined ? {} : { error: fault }),
    };
  }
}
