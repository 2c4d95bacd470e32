import { Injectable } from '@nestjs/common';
import { type Connection, connectionFor } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import type { LastKnownTool } from '../../connections/last-known-tool.js';
import { MAX_AGENTS, type RunnableAgent } from '../records/agent.js';
import { AgentsService } from '../records/agents.service.js';
import { type ListOf, listsWithinSize } from './lists-within-size.js';
import type { MemberList } from './member-lists.js';

/** Limits the nesting of agents; also ends a cycle, which saving refuses. */
export const MAX_DEPTH = 8;
/** Of one agent and all agents inside it. */
const MAX_CONNECTIONS = 1_000;
/**
 * Limits the tool lists of all connections together, and the tools that an agent makes of them, in UTF-16 code units of
 * their JSON text.
 */
export const MAX_SIZE = 32 * 1024 * 1024;

/** Why a connection that does not fit is left out. */
export const TOO_LARGE = `With it, the agent's tools would exceed ${MAX_SIZE / 1024 ** 2} MiB.`;

/** An agent: a connection of type VIRTUAL. */
export interface AgentToCompose {
  readonly id: string;
  readonly organizationId: string;
  /** The person whose accounts at upstreams are used, where each member has an own one. */
  readonly accountUserId?: string | null | undefined;
  /** The agent itself, if a read of it is already in progress: avoids a second read. */
  readonly reading?: Promise<RunnableAgent | undefined>;
}

/** The agents and connections that make up an agent. */
interface AgentMembers {
  readonly id: string;
  readonly organizationId: string;
  /** The agent and all nested agents within the limits, by id. */
  readonly agents: ReadonlyMap<string, RunnableAgent>;
  /** What these agents select, agents included, by id; those nearest to the agent come first. */
  readonly connections: ReadonlyMap<string, Connection>;
}

/** All parts of an agent. */
export interface AgentParts extends AgentMembers {
  /** The tool lists of the connections that are not agents, by connection id. */
  readonly lists: ReadonlyMap<string, MemberList>;
  /** The last listed tools of connections without a list, by connection id. */
  readonly lastKnown: ReadonlyMap<string, readonly LastKnownTool[]>;
}

/** Reads the parts of agents level by level: per level one query for the agents and one for the connections. */
@Injectable()
export class AgentPartsReader {
  constructor(
    private readonly agents: AgentsService,
    private readonly directory: ConnectionDirectory,
  ) {}

  async read(agent: AgentToCompose, listOf: ListOf): Promise<AgentParts> {
    return this.withLists(await this.readMembers(agent), listOf);
  }

  /** The same parts with different lists. */
  async withLists(parts: AgentMembers, listOf: ListOf): Promise<AgentParts> {
    const plain = [...parts.connections.values()].filter(({ type }) => type !== 'VIRTUAL');
    const lists = await listsWithinSize(plain, listOf, { maxSize: MAX_SIZE, tooLarge: TOO_LARGE });
    const silent = plain.filter(({ id }) => lists.get(id)?.list === undefined).map(({ id }) => id);
    const lastKnown =
      silent.length === 0 ? new Map<string, LastKnownTool[]>() : await this.directory.lastKnownToolNames(silent);
    return { ...parts, lists, lastKnown };
  }

  /** Without lists and names. */
  async readMembers({ id, organizationId, reading, accountUserId }: AgentToCompose): Promise<AgentMembers> {
    const agents = new Map<string, RunnableAgent>();
    const connections = new Map<string, Connection>();
    let plain = 0;
    const first = await (reading ?? this.agents.findForRun(organizationId, id));
    let level = first === undefined ? [] : [first];
    for (let depth = 0; level.length > 0 && depth < MAX_DEPTH; depth++) {
      for (const agent of level) agents.set(agent.id, agent);
      const ids = new Set(level.flatMap((agent) => agent.connections.map(({ connectionId }) => connectionId)));
      const wanted = [...ids].filter((one) => !connections.has(one));
      const found = new Map(
        (await this.directory.findAll(organizationId, wanted)).map((found) => {
          const connection = found.type === 'VIRTUAL' ? found : connectionFor(found, accountUserId);
          return [connection.id, connection];
        }),
      );
      const inner: string[] = [];
      for (const one of wanted) {
        const connection = found.get(one);
        if (connection === undefined) continue;
        if (connection.type === 'VIRTUAL') {
          connections.set(one, connection);
          if (!agents.has(one) && agents.size + inner.length < MAX_AGENTS) inner.push(one);
        } else if (++plain <= MAX_CONNECTIONS) connections.set(one, connection);
      }
      level = inner.length === 0 ? [] : await this.agents.findAllForRun(organizationId, inner);
    }
    return { id, organizationId, agents, connections };
  }
}
