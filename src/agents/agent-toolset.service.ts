import { Injectable } from '@nestjs/common';
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/client';
import { DomainError } from '../common/domain-error.js';
import type { Connection } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.service.js';
import type { UpstreamTool } from '../upstreams/upstream.js';
import type { ToolCaller } from '../upstreams/tool-call.js';
import { ToolInvoker } from '../upstreams/tool-invoker.js';
import { UpstreamError } from '../upstreams/upstream-error.js';
import type { AgentConnection, RunnableAgent } from './agent.js';
import { composeToolNames, prefixFromTitle, type ToolNames } from './tool-naming.js';

/** How long each upstream may take to list its tools, in milliseconds. */
const LIST_DEADLINE_MS = 15_000;

/** On whose behalf an agent's tools are opened and called. */
export interface ToolsetContext {
  readonly caller: ToolCaller;
  /** Aborting it gives up opening. */
  readonly signal?: AbortSignal;
}

/** A tool of an agent, ready to be called. */
export interface AgentTool {
  /** The composed name: unique in the agent, `[A-Za-z0-9_-]`, at most 64 characters. */
  readonly name: string;
  readonly connectionId: string;
  readonly upstreamName: string;
  readonly description: string | undefined;
  /** As the upstream sent it: a JSON Schema of type object, not checked. */
  readonly inputSchema: UpstreamTool['inputSchema'];
  readonly annotations: ToolAnnotations | undefined;
  /** Rejects as `ToolInvoker.callTool` does. */
  call(args: Record<string, unknown>, signal?: AbortSignal): Promise<CallToolResult>;
}

/** A connection whose tools could not be had, and why, in a sentence. */
export interface UnavailableConnection {
  readonly connectionId: string;
  readonly title: string;
  readonly reason: string;
}

export interface OpenToolset {
  /** In the order of the agent's connections, and by name within each. */
  readonly tools: AgentTool[];
  readonly unavailable: UnavailableConnection[];
}

/** One connection of the agent with what it lists now, or why it does not. */
interface Member {
  readonly selection: AgentConnection;
  readonly connection: Connection;
  readonly listed: UpstreamTool[];
  readonly fault: string | undefined;
}

/** Composes the tools of an agent out of its connections. */
@Injectable()
export class AgentToolset {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly invoker: ToolInvoker,
  ) {}

  /**
   * Lists all connections at once. One that is dead costs its own tools only: it is reported, and renames nothing.
   * @throws the signal's reason when it is aborted
   */
  async open(
    organizationId: string,
    agent: Pick<RunnableAgent, 'id' | 'connections'>,
    context: ToolsetContext,
  ): Promise<OpenToolset> {
    const members = await this.listAll(organizationId, agent.connections, context.signal);
    const names = await this.nameAll(members);
    const tools = members.flatMap((member) =>
      selectedTools(member)
        .map((tool) =>
          this.toAgentTool(agent.id, member, tool, nameOf(names, member.connection.id, tool.name), context.caller),
        )
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
    const unavailable = members.flatMap(({ connection, fault }) =>
      fault === undefined ? [] : [{ connectionId: connection.id, title: connection.title, reason: fault }],
    );
    return { tools, unavailable };
  }

  private async listAll(
    organizationId: string,
    selections: readonly AgentConnection[],
    signal: AbortSignal | undefined,
  ): Promise<Member[]> {
    const ids = selections.map(({ connectionId }) => connectionId);
    const connections = new Map((await this.directory.findAll(organizationId, ids)).map((found) => [found.id, found]));
    const members = selections.flatMap((selection) => {
      const connection = connections.get(selection.connectionId);
      // Deleted since the agent was read.
      return connection === undefined ? [] : [{ selection, connection }];
    });
    return Promise.all(members.map(async (member) => ({ ...member, ...(await this.list(member.connection, signal)) })));
  }

  private async list(
    { id, organizationId }: Connection,
    signal: AbortSignal | undefined,
  ): Promise<Pick<Member, 'listed' | 'fault'>> {
    const deadline = AbortSignal.timeout(LIST_DEADLINE_MS);
    const ended = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    try {
      const listed = await this.invoker.listTools({ organizationId, connectionId: id }, { signal: ended });
      return { listed, fault: undefined };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
      const late = `The upstream did not list its tools within ${LIST_DEADLINE_MS / 1000} s.`;
      return { listed: [], fault: deadline.aborted ? late : error.message };
    }
  }

  private async nameAll(members: readonly Member[]): Promise<ToolNames> {
    const silent = members.filter(({ fault }) => fault !== undefined).map(({ connection }) => connection.id);
    const lastKnown = await this.directory.lastKnownToolNames(silent);
    return composeToolNames(
      members.map((member) => ({
        connectionId: member.connection.id,
        prefix: member.selection.prefix ?? prefixFromTitle(member.connection.title),
        tools: knownTools(member, lastKnown.get(member.connection.id)),
      })),
    );
  }

  private toAgentTool(
    agentId: string,
    { selection, connection }: Member,
    tool: UpstreamTool,
    name: string,
    caller: ToolCaller,
  ): AgentTool {
    const { id: connectionId, organizationId } = connection;
    return {
      name,
      connectionId,
      upstreamName: tool.name,
      description: tool.description,
      inputSchema: tool.inputSchema,
      annotations: tool.annotations,
      call: async (args, signal) => {
        const found = await this.invoker.find({ organizationId, connectionId });
        const permitted = (toolName: string): boolean => isSelected(selection, toolName);
        const call = { connection: found, toolName: tool.name, args, caller, door: 'run', agentId, permitted } as const;
        return this.invoker.callTool(call, { signal });
      },
    };
  }
}

/** The tools that the agent has of a connection, whether it answers now or did before; a choice never listed is believed. */
function knownTools({ selection, listed, fault }: Member, lastKnown: readonly string[] | undefined): readonly string[] {
  const names = fault === undefined ? listed.map(({ name }) => name) : (lastKnown ?? selection.selectedTools ?? []);
  return names.filter((name) => isSelected(selection, name));
}

function selectedTools({ selection, listed }: Member): UpstreamTool[] {
  return listed.filter(({ name }) => isSelected(selection, name));
}

function isSelected({ selectedTools }: AgentConnection, toolName: string): boolean {
  return selectedTools === null || selectedTools.includes(toolName);
}

function nameOf(names: ToolNames, connectionId: string, upstreamName: string): string {
  const name = names.get(connectionId)?.get(upstreamName);
  if (name === undefined) throw new Error('A tool of the agent was not named.');
  return name;
}
