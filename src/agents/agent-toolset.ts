import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { throughOutage } from '../common/through-outage.js';
import { unlessAborted } from '../common/with-timeout.js';
import type { StateOwner } from '../upstreams/contract/state-owner.js';
import type { ToolCaller } from '../upstreams/contract/tool-caller.js';
import type { ToolCall } from '../upstreams/tool-call.js';
import { ToolInvoker } from '../upstreams/tool-invoker.js';
import type { UpstreamTool } from '../upstreams/contract/upstream.js';
import { AgentComposition } from './composition/agent-composition.js';
import type { AgentToCompose } from './composition/agent-parts.js';
import { connectionOf, type ToolPlace, type UnavailableMember } from './composition/composition.js';

/** How long a call waits when a rate limit of its connection is reached, before the model gets an error. */
const LIMIT_PATIENCE_MS = 5_000;

/** The caller on whose behalf an agent's tools are opened and called. */
export interface ToolsetContext {
  readonly caller: ToolCaller;
  /** Who has sessions of its own with upstreams that have state. */
  readonly owner: StateOwner;
  /** Aborts the opening. */
  readonly signal?: AbortSignal;
}

export interface AgentToolCallOptions {
  /** Aborting it cancels the call. */
  readonly signal?: AbortSignal;
  /** The trace context under which the call is made (W3C), unchecked. */
  readonly trace?: ToolCall['trace'];
}

/** A callable tool of an agent. */
export interface AgentTool {
  /** The gateway's name for the tool: unique in the agent, `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly name: string;
  readonly connectionId: string;
  readonly connectionTitle: string;
  readonly upstreamName: string;
  /** As the upstream listed it, with its schema unchecked; undefined while it cannot be listed. */
  readonly definition: UpstreamTool | undefined;
  /** Why it cannot be listed. Calls are attempted regardless. */
  readonly fault: UnavailableMember | undefined;
  /** Switched off by a person: every call is refused. */
  readonly isInactive: boolean;
  /** A run makes a call only after somebody has approved it. */
  readonly needsApproval: boolean;
  /** Rejects as `ToolInvoker.callTool` does, with DomainError `not_found` once the connection is deleted, and with StorageLostError. */
  call(args: Record<string, unknown>, options?: AgentToolCallOptions): Promise<CallToolResult>;
}

export interface OpenToolset {
  /** In the order of the gateway's list, including tools that cannot be listed. */
  readonly tools: readonly AgentTool[];
  readonly unavailable: readonly UnavailableMember[];
}

/** The tools of an agent for a run: the gateway's composition, called with the agent's selection as the permission. */
@Injectable()
export class AgentToolset {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly invoker: ToolInvoker,
  ) {}

  /**
   * The agent's current tools. Later changes apply only when it is opened again.
   * @throws the signal's reason when it is aborted
   */
  async openToolset(agent: AgentToCompose, { caller, owner, signal }: ToolsetContext): Promise<OpenToolset> {
    const { places, unavailable } = await unlessAborted(
      this.compositions.compositionOf({ ...agent, accountUserId: caller.userId }),
      signal,
    );
    return {
      tools: [...places.values()].map((place) => this.toAgentTool(agent.id, place, { caller, owner })),
      unavailable,
    };
  }

  private toAgentTool(agentId: string, place: ToolPlace, { caller, owner }: ToolsetContext): AgentTool {
    const { name, upstreamName, tool, fault, isInactive, needsApproval } = place;
    const { id: connectionId, organizationId, title: connectionTitle } = place.connection;
    const { userId } = caller;
    const permitted = (toolName: string): boolean => toolName === upstreamName;
    return {
      name,
      connectionId,
      connectionTitle,
      upstreamName,
      definition: tool?.definition,
      fault,
      isInactive,
      needsApproval,
      call: async (args, { signal, trace = {} } = {}) => {
        const found = await throughOutage(() =>
          this.invoker.requireConnection({ organizationId, connectionId, userId }),
        );
        const connection = connectionOf(place, found);
        const what = { connection, toolName: upstreamName, args, permitted };
        const call: ToolCall = {
          ...what,
          caller,
          owner,
          entryPoint: 'run',
          agentId,
          trace,
          waitForLimit: { patienceMs: LIMIT_PATIENCE_MS, signal },
        };
        return this.invoker.callTool(call, { signal });
      },
    };
  }
}
