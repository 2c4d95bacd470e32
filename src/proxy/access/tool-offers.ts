import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import type { Connection } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { isOpen, sees } from '../agent-server/offering/agent-permissions.js';
import { mayAsk } from '../agent-server/ask/ask-definition.js';
import { ProxyCaller } from '../protocol/proxy-caller.js';
import { canRun, opensEndpoint } from './access-callers.js';

export interface OfferedTool {
  readonly name: string;
  /** The connection that provides it; never an agent. */
  readonly connection: Connection;
  readonly upstreamName: string;
  /** Runs of the agent call it only after an approval. */
  readonly needsApproval: boolean;
  /** Callers without a credential can call it here. */
  readonly isPublic: boolean;
  /** True if requests with this credential can call it here. */
  readonly permits: (principal: Principal) => boolean;
}

/** What a connection or agent offers. */
export interface Offer {
  readonly target: Connection;
  /** As last known; undefined for a connection that never listed its tools. */
  readonly tools: readonly OfferedTool[] | undefined;
  /** True if the caller can run the agent; always false for a connection. */
  readonly canRun: (principal: Principal) => boolean;
}

/**
 * The tools of connections and agents as last known, each with the rule by which the proxy admits calls. Calls no
 * upstream.
 */
@Injectable()
export class ToolOffers {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly catalog: ToolCatalog,
    private readonly compositions: AgentComposition,
  ) {}

  /** @throws DomainError `not_found` */
  async requireOffer(organizationId: string, connectionId: string): Promise<Offer> {
    const connection = await this.directory.findConnection(organizationId, connectionId);
    if (connection !== undefined) return this.offerOf(connection);
    throw new DomainError('not_found', 'There is no connection or agent with this id in the organization.');
  }

  /** Those of the connections and agents that exist, in the order of the ids. */
  async *offersOf(organizationId: string, ids: readonly string[]): AsyncGenerator<Offer> {
    const found = new Map((await this.directory.findAll(organizationId, ids)).map((one) => [one.id, one]));
    for (const id of ids) {
      const connection = found.get(id);
      if (connection !== undefined) yield this.offerOf(connection);
    }
  }

  private offerOf(connection: Connection): Promise<Offer> {
    return connection.type === 'VIRTUAL' ? this.ofAgent(connection) : this.ofConnection(connection);
  }

  private async ofConnection(connection: Connection): Promise<Offer> {
    const list = await this.catalog.lastKnownOf(connection);
    const nobody = callerOf(undefined, connection);
    const tools =
      list &&
      [...list.tools.values()].map(({ name, definition }) => ({
        name,
        connection,
        upstreamName: name,
        needsApproval: false,
        isPublic: nobody.sees(definition),
        permits: (principal: Principal) =>
          opensEndpoint(principal, connection) && callerOf(principal, connection).sees(definition),
      }));
    return { target: connection, tools, canRun: () => false };
  }

  private async ofAgent(agent: Connection): Promise<Offer> {
    const { places, ask } = await this.compositions.lastKnownOf(agent);
    const nobody = callerOf(undefined, agent);
    const tools = [...places.values()].map((place) => ({
      name: place.name,
      connection: place.connection,
      upstreamName: place.upstreamName,
      needsApproval: place.needsApproval,
      isPublic: isOpen(nobody, place),
      permits: (principal: Principal) => opensEndpoint(principal, agent) && sees(callerOf(principal, agent), place),
    }));
    const isAsked = (principal: Principal): boolean =>
      ask !== undefined && opensEndpoint(principal, agent) && mayAsk(callerOf(principal, agent));
    return { target: agent, tools, canRun: (principal) => canRun(principal, agent.id) || isAsked(principal) };
  }
}

function callerOf(principal: Principal | undefined, connection: Connection): ProxyCaller {
  return new ProxyCaller(principal, connection, '');
}
