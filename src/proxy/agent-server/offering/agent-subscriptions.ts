import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import type { Source } from '../../../agents/composition/composition.js';
import type { Connection } from '../../../connections/connection.js';
import { DomainError } from '../../../core/domain-error.js';
import type { StateOwner } from '../../../upstreams/contract/callers.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { answeringRoute, pooledRoute, usableCapabilities } from '../../forwarding/upstream-router.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';
import { ProxyCaller } from '../../protocol/proxy-caller.js';
import { refusedSubscription } from '../../protocol/protocol-eras.js';
import { ChangeSubscriptions, MAX_RESOURCES_OF_CALLER } from '../../translation/subscriptions/change-subscriptions.js';
import { SessionSubscriptions } from '../../translation/subscriptions/session-subscriptions.js';
import { type SubscribedPlace, WatchedResources } from '../../translation/subscriptions/watched-resources.js';
import { UpstreamEras } from '../../translation/upstream-eras.js';
import { AgentPromptsAndResources, type ResourcePlace } from './agent-prompts-and-resources.js';
import { mayUse } from './agent-permissions.js';

const DESCRIPTION_TIMEOUT_MS = 10_000;

/** What a client of the modern era hears of. */
interface Watch {
  /** The resources that the upstreams have accepted, by the client's addresses. */
  readonly uris: readonly string[];
  readonly stop: () => void;
}

/** Subscribes to resources of an agent's connections, in the sessions that the service has with the upstreams. */
@Injectable()
export class AgentSubscriptions {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly offers: AgentPromptsAndResources,
    private readonly sessions: SessionSubscriptions,
    private readonly subscriptions: ChangeSubscriptions,
    private readonly eras: UpstreamEras,
  ) {}

  /**
   * Subscribes in a session of the legacy era with the agent.
   * @throws DomainError `invalid_arguments`, `connection_unavailable`; UpstreamError
   */
  async subscribe(caller: ProxyCaller, session: Session, address: string, signal: AbortSignal): Promise<void> {
    const { sources, uri: own } = await this.find(caller, address);
    for (const { connection } of sources) {
      const find = (current: ProxyCaller): Promise<SubscribedPlace | undefined> =>
        this.placeOf(
          current,
          connection.id,
          async (found) => pooledRoute({ principal: current.principal, connection: found }, {}, session).owner,
        );
      const resource = { connectionId: connection.id, own, address, find };
      if (await this.sessions.subscribe({ session, caller }, resource, signal)) return;
    }
    throw refusedSubscription();
  }

  /**
   * Subscribes for a client of the modern era. A connection that does not answer is left out.
   * @param message the client's request, which declares what the client answers
   * @param onUpdate called with the client's address of a resource that has changed, or a part of it
   * @throws UpstreamError `busy`
   */
  async watch(
    caller: ProxyCaller,
    message: InboundMessage,
    addresses: readonly string[],
    { onUpdate, signal }: { readonly onUpdate: (address: string) => void; readonly signal: AbortSignal },
  ): Promise<Watch> {
    // Each address is looked up among all resources of the agent.
    if (addresses.length > MAX_RESOURCES_OF_CALLER) {
      throw new UpstreamError('busy', 'The caller has too many subscriptions.');
    }
    const byConnection = new Map<string, Map<string, string>>();
    for (const address of addresses) {
      if (signal.aborted) break;
      const { sources, uri } = await this.find(caller, address).catch(() => ({ sources: [], uri: address }));
      const [source] = sources;
      if (source === undefined) continue;
      const { id } = source.connection;
      byConnection.set(id, (byConnection.get(id) ?? new Map<string, string>()).set(uri, address));
    }
    const watched = [...byConnection].map(([id, wanted]) => {
      const find = (): Promise<SubscribedPlace | undefined> =>
        this.placeOf(caller, id, (connection) => this.ownerFor(caller, message, connection));
      return { wanted, resources: new WatchedResources(this.subscriptions, find, (_, address) => onUpdate(address)) };
    });
    const stop = (): void => watched.forEach(({ resources }) => resources.end());
    try {
      const accepted = watched.map(async ({ wanted, resources }) => {
        resources.listen();
        const uris = await resources.add(wanted, signal).catch(noneUnlessBusy);
        return uris.flatMap((uri) => wanted.get(uri) ?? []);
      });
      return { uris: (await Promise.all(accepted)).flat(), stop };
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** @throws DomainError `invalid_arguments` */
  private async find(caller: ProxyCaller, address: string): Promise<ResourcePlace> {
    const composition = await this.compositions.compositionOf(caller.connection);
    try {
      return await this.offers.findResource(caller, composition, address);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'not_found') throw error;
      throw new DomainError('invalid_arguments', 'The agent has no resource with this URI.');
    }
  }

  /** The caller at a connection of the agent, as both are now. */
  private async placeOf(
    caller: ProxyCaller,
    connectionId: string,
    ownerFor: (connection: Connection) => Promise<StateOwner | undefined>,
  ): Promise<SubscribedPlace | undefined> {
    const { sources } = await this.compositions.namesOf(caller.connection);
    const source: Source | undefined = sources.find(({ connection }) => connection.id === connectionId);
    if (source === undefined || !mayUse(caller, source, 'resources')) return undefined;
    const { connection } = source;
    return {
      caller: new ProxyCaller(caller.principal, connection, caller.requestId),
      owner: await ownerFor(connection),
    };
  }

  /** In whose session the calls of a client of the modern era are sent, so that it hears of what they change there. */
  private async ownerFor(
    caller: ProxyCaller,
    message: InboundMessage,
    connection: Connection,
  ): Promise<StateOwner | undefined> {
    const { principal } = caller;
    const capabilities = usableCapabilities({ principal, connection }, message);
    const { owner } = pooledRoute(caller, {});
    if (principal === undefined || capabilities === undefined) return owner;
    const { isModern } = await this.eras.describeUpstream(connection, AbortSignal.timeout(DESCRIPTION_TIMEOUT_MS));
    return isModern ? owner : answeringRoute(principal, capabilities).owner;
  }
}

function noneUnlessBusy(error: unknown): readonly string[] {
  if (error instanceof UpstreamError && error.kind !== 'busy') return [];
  if (error instanceof DomainError) return [];
  throw error;
}
