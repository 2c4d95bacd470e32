import { Injectable } from '@nestjs/common';
import type { OfferKind, Source } from '../../../agents/composition/composition.js';
import { withTimeout } from '../../../common/with-timeout.js';
import type { ServerDescription } from '../../../upstreams/contract/server-description.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { UpstreamEras } from '../../translation/upstream-eras.js';
import { mayUse } from './agent-permissions.js';

/** What an agent promises a caller beside tools (MCP, "Capability negotiation"). */
export interface AgentFeatures {
  readonly prompts: boolean;
  readonly resources: boolean;
  readonly completions: boolean;
  /** These two need a session of the caller's own with the upstream. */
  readonly subscriptions: boolean;
  readonly logging: boolean;
}

/** What the agent's server can answer at all, for requests that are not about features. */
export const ALL_FEATURES: AgentFeatures = {
  prompts: true,
  resources: true,
  completions: true,
  subscriptions: false,
  logging: false,
};

/** How long an upstream that has not introduced itself may take to do so, in milliseconds. */
const PATIENCE_MS = 250;
const ASK_TIMEOUT_MS = 10_000;

type Capabilities = ServerDescription['capabilities'] | undefined;

/**
 * Finds out what an agent can promise: what the caller may use of a connection whose upstream offers it. An upstream that does
 * not tell in time is believed to offer everything.
 */
@Injectable()
export class AgentCapabilities {
  constructor(private readonly eras: UpstreamEras) {}

  /** @param isSession does the caller have sessions of its own with the upstreams? */
  async featuresFor(caller: ProxyCaller, sources: readonly Source[], isSession: boolean): Promise<AgentFeatures> {
    const members = await Promise.all(
      sources.map(async (source) => ({ source, capabilities: await this.capabilitiesOf(source) })),
    );
    const some = (kind: OfferKind, isOffered: (capabilities: NonNullable<Capabilities>) => boolean): boolean =>
      members.some(
        ({ source, capabilities }) =>
          mayUse(caller, source, kind) && (capabilities === undefined || isOffered(capabilities)),
      );
    const hasSession = ({ source }: { source: Source }): boolean => isSession && source.connection.type === 'HTTP';
    return {
      prompts: some('prompts', ({ prompts }) => prompts !== undefined),
      resources: some('resources', ({ resources }) => resources !== undefined),
      completions:
        some('prompts', ({ completions }) => completions !== undefined) ||
        some('resources', ({ completions }) => completions !== undefined),
      subscriptions: members.some(hasSession) && some('resources', ({ resources }) => resources?.subscribe === true),
      logging: members.some(
        (member) =>
          hasSession(member) && (member.capabilities === undefined || member.capabilities.logging !== undefined),
      ),
    };
  }

  /** Undefined while they are not known. */
  private async capabilitiesOf({ connection }: Source): Promise<Capabilities> {
    const told = this.eras.of(connection, AbortSignal.timeout(ASK_TIMEOUT_MS)).then(
      ({ capabilities }) => capabilities,
      () => undefined,
    );
    return withTimeout(told, PATIENCE_MS, () => undefined, { ref: false });
  }
}
