import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { AnswerRooms, type AnswerRoom, type OwnRoom } from '../core/answers/answer-room.js';
import { throughOutage } from '../core/retry.js';
import { TimeSlices } from '../core/time-slices.js';
import { unlessAborted } from '../core/with-timeout.js';
import { keyOfCaller, type StateOwner, type ToolCaller } from '../upstreams/contract/callers.js';
import type { ToolCall } from '../upstreams/invocation.js';
import { isTaskOnly } from '../upstreams/contract/tool-task.js';
import { ToolInvoker } from '../upstreams/tool-invoker.js';
import type { UpstreamTool } from '../upstreams/contract/upstream.js';
import { DomainError } from '../core/domain-error.js';
import type { Connection } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.js';
import { AgentComposition } from './composition/agent-composition.js';
import type { AgentToCompose } from './composition/agent-parts.js';
import { SEARCH_TOOLS } from './composition/tool-naming.js';
import { refusalOfChange, fillArguments, refusalOfArguments, type ToolDressing } from './dressing/tool-dressing.js';
import { connectionOf, type ToolPlace, type UnavailableMember, placesForModels } from './composition/composition.js';
import { SEARCH_FOR_MODELS, toSummaries, toToolQuery } from './search/search-tools.js';
import { appliedMode } from './search/tool-mode.js';
import { ToolSearch } from './search/tool-search.js';
import { hash } from 'node:crypto';
import { canonicalText } from '../core/json/canonical-text.js';

/** What a call of a tool reaches: an approval is for this, and for the call's arguments. */
export interface ToolTarget {
  readonly connectionId: string;
  readonly upstreamName: string;
  /** SHA-256 of the connection's id and address, the upstream's name of the tool, and the arguments that agents fix. */
  readonly place: string;
  /** SHA-256 of what the upstream says of the tool; null while it cannot be listed. */
  readonly definition: string | null;
}

/** A tool of a connection, with the arguments that agents on the way to it fix. */
interface TargetTool {
  readonly upstreamName: string;
  readonly dressing?: Pick<ToolDressing, 'fixed'> | undefined;
}

/**
 * The target of calls of a tool.
 * @param definition as the upstream lists it; undefined while the tool cannot be listed
 */
function targetOf(connection: Connection, tool: TargetTool, definition: UpstreamTool | undefined): ToolTarget {
  return {
    connectionId: connection.id,
    upstreamName: tool.upstreamName,
    place: placeOf(connection, tool),
    definition: definition === undefined ? null : digestOf(whatItSays(definition)),
  };
}

/** The `place` of a target. */
function placeOf({ id, url, stdio }: Connection, { upstreamName, dressing }: TargetTool): string {
  const address = [url, stdio?.command ?? null, stdio?.args ?? null, stdio?.cwd ?? null];
  const fixed = dressing?.fixed ?? [];
  return digestOf([id, address, upstreamName, ...(fixed.length === 0 ? [] : [fixed])]);
}

/** `_meta` and icons can differ between two lists of one tool. */
function whatItSays({ title, description, inputSchema, outputSchema, annotations }: UpstreamTool): unknown {
  return [title ?? null, description ?? null, inputSchema, outputSchema ?? null, annotations ?? null];
}

function digestOf(value: unknown): string {
  return hash('sha256', canonicalText(value), 'hex');
}

/** How long a call waits when a rate limit of its connection is reached, before the model gets an error. */
const LIMIT_PATIENCE_MS = 5_000;

/** The caller on whose behalf an agent's tools are opened and called. */
interface ToolsetContext {
  readonly caller: ToolCaller;
  /** Who has sessions of its own with upstreams that have state. */
  readonly owner: StateOwner;
  /** Aborts the opening. */
  readonly signal?: AbortSignal;
}

interface AgentToolCallOptions {
  /** Aborting it cancels the call. */
  readonly signal?: AbortSignal;
  /** The trace context under which the call is made (W3C), unchecked. */
  readonly trace?: ToolCall['trace'];
  /** The `ToolTarget.place` that somebody has approved: a call that would reach another one is refused. */
  readonly approvedPlace?: string | undefined;
  /** See `openRoom`; absent: the answer counts towards no memory. */
  readonly room?: AnswerRoom;
}

/** A callable tool of an agent. */
export interface AgentTool {
  /** The gateway's name for the tool: unique in the agent, `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly name: string;
  readonly connectionId: string;
  readonly connectionTitle: string;
  readonly upstreamName: string;
  /**
   * As the upstream listed it, or as agents dress it, with its schema unchecked; undefined while it cannot be listed.
   */
  readonly definition: UpstreamTool | undefined;
  /** Why it cannot be listed. Calls are attempted regardless. */
  readonly fault: UnavailableMember | undefined;
  /** Switched off by a person: every call is refused. */
  readonly isInactive: boolean;
  /** A run makes a call only after somebody has approved it. */
  readonly needsApproval: boolean;
  /** What a call reaches, as far as the composition knows. */
  readonly target: ToolTarget;
  /** What a call reaches now; undefined once the connection is deleted. Rejects with StorageLostError. */
  readTarget(signal: AbortSignal): Promise<ToolTarget | undefined>;
  /** The arguments that the upstream gets in a call with these, as far as they are not refused. */
  fillArguments(args: Record<string, unknown>): Record<string, unknown>;
  /** False if a call with these arguments would be refused because of them. */
  acceptsArguments(args: Record<string, unknown>): Promise<boolean>;
  /** Room for the answer to one call, in the share of the caller. Leave it when the result is no longer needed. */
  openRoom(): OwnRoom;
  /**
   * Rejects as `ToolInvoker.callTool` does, with DomainError `not_found` once the connection is deleted, and with
   * StorageLostError.
   */
  call(args: Record<string, unknown>, options?: AgentToolCallOptions): Promise<CallToolResult>;
}

export interface OpenToolset {
  /** In the order of the gateway's list, including tools that cannot be listed. */
  readonly tools: readonly AgentTool[];
  readonly unavailable: readonly UnavailableMember[];
  /** The names of the tools that a model gets before it has searched; undefined if it gets all of them. */
  readonly pinned: ReadonlySet<string> | undefined;
}

/** The tools of an agent for a run: the gateway's composition, called with the agent's selection as the permission. */
@Injectable()
export class AgentToolset {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly directory: ConnectionDirectory,
    private readonly invoker: ToolInvoker,
    private readonly search: ToolSearch,
    private readonly rooms: AnswerRooms,
  ) {}

  /**
   * The agent's current tools. Later changes apply only when it is opened again.
   * @throws the signal's reason when it is aborted
   */
  async openToolset(agent: AgentToCompose, { caller, owner, signal }: ToolsetContext): Promise<OpenToolset> {
    const composition = await unlessAborted(
      this.compositions.compositionOf({ ...agent, accountUserId: caller.userId }),
      signal,
    );
    const { unavailable, pinnedTools } = composition;
    const holder = { organization: { id: agent.organizationId }, callerId: keyOfCaller(caller) };
    const openRoom = (): OwnRoom => this.rooms.open(holder);
    const offered = placesForModels(composition);
    const tools = offered.map((place) => this.toAgentTool(agent.id, place, { caller, owner, openRoom }));
    if ((await appliedMode(composition, offered, new TimeSlices(agent.organizationId))) === 'all')
      return { tools, unavailable, pinned: undefined };
    const permitted = new Set(offered.filter(({ isInactive }) => !isInactive));
    const search = searchAsTool(
      agent.id,
      async (args) =>
        toSummaries(
          await this.search.findTools(agent.organizationId, composition, toToolQuery(args), (place) =>
            permitted.has(place),
          ),
        ),
      openRoom,
    );
    return { tools: [search, ...tools], unavailable, pinned: new Set([search.name, ...pinnedTools]) };
  }

  private toAgentTool(
    agentId: string,
    place: ToolPlace,
    { caller, owner, openRoom }: ToolsetContext & Pick<AgentTool, 'openRoom'>,
  ): AgentTool {
    const { name, upstreamName, tool, fault, isInactive, needsApproval, dressing } = place;
    const { id: connectionId, organizationId, title: connectionTitle } = place.connection;
    const { userId } = caller;
    const refusalOf = (args: Record<string, unknown>): DomainError | undefined =>
      dressing && refusalOfArguments(dressing, args);
    const filled = (args: Record<string, unknown>): Record<string, unknown> =>
      dressing === undefined ? args : fillArguments(dressing, args);
    const permitted = (toolName: string): boolean => toolName === upstreamName;
    const findConnection = (): Promise<Connection> =>
      throughOutage(() => this.directory.requireConnection(organizationId, connectionId, userId));
    return {
      name,
      connectionId,
      connectionTitle,
      upstreamName,
      definition: tool?.definition,
      fault,
      isInactive,
      needsApproval,
      target: targetOf(
        place.connection,
        place,
        dressing === undefined ? tool?.definition : dressing.upstreamDefinition,
      ),
      readTarget: async (signal) => {
        const connection = await findConnection().catch(unlessNotFound);
        if (connection === undefined) return undefined;
        return targetOf(connection, place, await this.invoker.findDefinition(connection, upstreamName, signal));
      },
      fillArguments: filled,
      acceptsArguments: async (args) =>
        refusalOf(args) === undefined &&
        (await this.invoker.acceptsArguments(place.connection, upstreamName, filled(args))),
      openRoom,
      call: async (args, { signal, trace = {}, approvedPlace, room } = {}) => {
        const connection = connectionOf(place, await findConnection());
        const isUnapproved = approvedPlace === undefined ? needsApproval : approvedPlace !== placeOf(connection, place);
        const refusal = refusalOf(args);
        const sent = refusal === undefined ? filled(args) : args;
        const what = { connection, toolName: upstreamName, args: sent, permitted, isUnapproved };
        const call: ToolCall = {
          ...what,
          refusalFor: dressing && ((current) => refusal ?? refusalOfChange(dressing, current)),
          caller,
          owner,
          asTask: isTaskOnly(tool?.definition),
          entryPoint: 'run',
          agentId,
          trace,
          waitForLimit: { patienceMs: LIMIT_PATIENCE_MS, signal },
        };
        return this.invoker.callTool(call, { signal, room });
      },
    };
  }
}

/** The search, which reaches no connection. */
function searchAsTool(
  agentId: string,
  search: (args: unknown) => Promise<CallToolResult>,
  openRoom: AgentTool['openRoom'],
): AgentTool {
  const target = { connectionId: agentId, upstreamName: SEARCH_TOOLS, place: '', definition: null };
  return {
    name: SEARCH_TOOLS,
    connectionId: agentId,
    connectionTitle: SEARCH_TOOLS,
    upstreamName: SEARCH_TOOLS,
    definition: SEARCH_FOR_MODELS,
    fault: undefined,
    isInactive: false,
    needsApproval: false,
    target,
    readTarget: () => Promise.resolve(target),
    fillArguments: (args) => args,
    acceptsArguments: () => Promise.resolve(true),
    openRoom,
    call: search,
  };
}

function unlessNotFound(error: unknown): undefined {
  if (error instanceof DomainError && error.code === 'not_found') return undefined;
  throw error;
}
