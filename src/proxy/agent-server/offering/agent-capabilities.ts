import { Injectable } from '@nestjs/common';
import type { OfferKind, Source } from '../../../agents/composition/composition.js';
import { type Connection, hasOwnSessions } from '../../../connections/connection.js';
import { withTimeout } from '../../../core/with-timeout.js';
import type { ServerDescription } from '../../../upstreams/contract/upstream.js';
import { ProxyCaller } from '../../protocol/proxy-caller.js';
import { UpstreamEras } from '../../translation/upstream-eras.js';
import { TASKS_EXTENSION } from '../../protocol/client-capabilities.js';
import { holdsAnyOf, mayUse } from './agent-permissions.js';

/** The capabilities that an agent declares to a caller in addition to tools (MCP, "Capability negotiation"). */
export interface AgentFeatures {
  readonly prompts: boolean;
  readonly resources: boolean;
  readonly completions: boolean;
  readonly subscriptions: boolean;
  readonly logging: boolean;
  /** The tasks extension of the modern era. */
  readonly tasks: boolean;
  /** Tasks of the legacy era: those of the tool that runs the agent. */
  readonly legacyTasks: boolean;
}

/** Those that the upstreams of the agent offer. */
type UpstreamFeatures = Omit<AgentFeatures, 'legacyTasks'>;

/** Everything that the agent's server can answer, for requests that do not return capabilities. */
export const ALL_FEATURES: AgentFeatures = {
  prompts: true,
  resources: true,
  completions: true,
  subscriptions: false,
  logging: false,
  tasks: false,
  legacyTasks: false,
};

/** How long to wait for the capabilities of an upstream that are not known yet, in milliseconds. */
const WAIT_MS = 250;
const DESCRIPTION_TIMEOUT_MS = 10_000;

type Capabilities = ServerDescription['capabilities'] | undefined;

/**
 * Determines the capabilities that an agent declares: those that an upstream offers and the caller is permitted to use.
 * An upstream whose capabilities are not known in time counts as offering everything.
 */
@Injectable()
export class AgentCapabilities {
  constructor(private readonly eras: UpstreamEras) {}

  async featuresFor(caller: ProxyCaller, sources: readonly Source[]): Promise<UpstreamFeatures> {
    const candidates = await Promise.all(
      sources.map(async (source) => {
        const description = await this.descriptionOf(source);
        return { source, description, capabilities: description?.capabilities };
      }),
    );
    const some = (kind: OfferKind, isOffered: (capabilities: NonNullable<Capabilities>) => boolean): boolean =>
      candidates.some(
        ({ source, capabilities }) =>
          mayUse(caller, source, kind) && (capabilities === undefined || isOffered(capabilities)),
      );
    return {
      prompts: some('prompts', ({ prompts }) => prompts !== undefined),
      resources: some('resources', ({ resources }) => resources !== undefined),
      completions:
        some('prompts', ({ completions }) => completions !== undefined) ||
        some('resources', ({ completions }) => completions !== undefined),
      subscriptions: some('resources', ({ resources }) => resources?.subscribe === true),
      logging: candidates.some(
        ({ source: { connection, grantors }, capabilities }) =>
          holdsAnyOf(caller, grantors) &&
          new ProxyCaller(caller.principal, connection, caller.requestId).getsLog &&
          (capabilities === undefined || capabilities.logging !== undefined),
      ),
      tasks: candidates.some(
        ({ source: { connection, grantors }, description }) =>
          holdsAnyOf(caller, grantors) && mayHaveTasks(connection, description),
      ),
    };
  }

  /** Undefined if it is not known in time. */
  private async descriptionOf({ connection }: Source): Promise<ServerDescription | undefined> {
    const description = this.eras
      .describeUpstream(connection, AbortSignal.timeout(DESCRIPTION_TIMEOUT_MS))
      .catch(() => undefined);
    return withTimeout(description, WAIT_MS, () => undefined, { ref: false });
  }
}

/**
 * Only upstreams of the modern era see what the client declares. A program that is still starting counts as without.
 */
function mayHaveTasks(connection: Connection, description: ServerDescription | undefined): boolean {
  if (description === undefined) return connection.type === 'HTTP';
  const { isModern, capabilities } = description;
  return hasOwnSessions(connection) && isModern && capabilities.extensions?.[TASKS_EXTENSION] !== undefined;
}
