import { Injectable } from '@nestjs/common';
import type { Connection } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.js';
import type { ConnectionCheck } from '../upstreams/pool/connection-tester.js';
import { AgentPartsReader } from './composition/agent-parts.js';
import { listedPlaces } from './composition/composition.js';
import { CompositionBuilder } from './composition/composition-builder.js';
import { MemberLists } from './composition/member-lists.js';

/** Tests agents by composing their tools from the current lists of the upstreams. */
@Injectable()
export class AgentTester {
  constructor(
    private readonly builder: CompositionBuilder,
    private readonly parts: AgentPartsReader,
    private readonly lists: MemberLists,
    private readonly directory: ConnectionDirectory,
  ) {}

  /** An agent fails its test while one of its connections does; it keeps the tools of the others. */
  async test(agent: Connection): Promise<ConnectionCheck> {
    const start = performance.now();
    const parts = await this.parts.read(agent, (connection, isRepeated) =>
      // The list that was requested first is now the last known one.
      isRepeated ? this.lists.lastKnownOf(connection) : this.lists.live(connection),
    );
    const composition = await this.builder.build(parts);
    const latencyMs = Math.round(performance.now() - start);
    const faults = composition.unavailable.map(({ title, reason }) => `${title}: ${reason}`);
    const fault = faults.length === 0 ? undefined : faults.join(' ');
    await this.directory.recordHealth(agent, fault);
    return { latencyMs, tools: listedPlaces(composition).length, protocolVersion: null, fault };
  }
}
