import { Injectable } from '@nestjs/common';
import type { Implementation } from '@modelcontextprotocol/client';
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import type { Composition, Source } from '../../../agents/composition/composition.js';
import { DomainError } from '../../../core/domain-error.js';
import type { Connection } from '../../../connections/connection.js';
import type { StateOwner } from '../../../upstreams/contract/callers.js';
import { version } from '../../../core/version.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { rpcErrorBody, SERVER_ERROR, URL_ELICITATION_REQUIRED } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { TASKS_EXTENSION } from '../../protocol/client-capabilities.js';
import { AskTool } from '../ask/ask-tool.js';
import type { AskExchange } from '../ask/asked-runs.js';
import type { SessionRequest } from '../ask/session-questions.js';
import {
  AgentPromptsAndResources,
  type ResourcePlace,
  type SourceRequestOptions,
} from './agent-prompts-and-resources.js';
import { renameContents } from './renamed-resource.js';
import type { AgentFeatures } from './agent-capabilities.js';

/** What the agent's server needs to know of one request. */
export interface AgentServerContext {
  readonly caller: ProxyCaller;
  readonly exchange: AskExchange;
  /** The session that the client has with this service. */
  readonly session: Session | undefined;
  /** Returns the agent's composition for this caller. */
  readonly compose: () => Promise<Composition>;
  /** Who has a session of its own with this upstream if it has state; undefined for a caller without a credential. */
  readonly ownerAt: (connection: Connection) => StateOwner | undefined;
  readonly features: AgentFeatures;
  readonly instructions: string | undefined;
  readonly client: ClientTraits;
}

/** MCP 2025-11-25, "Tasks". */
const LEGACY_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** What decides on the form of errors. */
interface ClientTraits {
  readonly isModern: boolean;
  /** True if the client asks people to open URLs. */
  readonly isUrlClient: boolean;
}

/** What an agent says of itself as an MCP server. */
export function serverInfoOf({ connection }: ProxyCaller): Implementation {
  return { name: 'signalbox', title: connection.title, version };
}

/** Serves an agent as an MCP server, for everything that is not forwarded as bytes. */
@Injectable()
export class AgentMcpServer {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly offers: AgentPromptsAndResources,
    private readonly ask: AskTool,
    private readonly rooms: AnswerRooms,
  ) {}

  /** Creates the server for one request. */
  for(context: AgentServerContext): Server {
    const { caller, instructions, features, client } = context;
    const capabilities = {
      tools: { listChanged: true },
      ...(features.prompts && { prompts: { listChanged: true } }),
      ...(features.resources && {
        resources: { listChanged: true, ...(features.subscriptions && { subscribe: true }) },
      }),
      ...(features.completions && { completions: {} }),
      ...(features.logging && { logging: {} }),
      ...(features.legacyTasks && !client.isModern && { tasks: LEGACY_TASKS }),
      ...(features.tasks && client.isModern && { extensions: { [TASKS_EXTENSION]: {} } }),
    };
    const server = new Server(serverInfoOf(caller), {
      capabilities,
      ...(instructions !== undefined && { instructions }),
    });
    const withProtocolErrors = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        throw toProtocolError(error, caller.requestId, client);
      }
    };
    server.setRequestHandler('tools/call', ({ params }, ctx) => {
      const sendRequest: SendRequest = (request) =>
        // The caller may have disconnected.
        void server.transport?.send(request, { relatedRequestId: ctx.mcpReq.id }).catch(() => undefined);
      return withProtocolErrors(this.callAgent(context, params, ctx, sendRequest));
    });
    if (features.prompts) this.servePrompts(server, context, withProtocolErrors);
    if (features.resources) this.serveResources(server, context, withProtocolErrors);
    if (features.completions) {
      server.setRequestHandler('completion/complete', ({ params }, ctx) =>
        withProtocolErrors(this.complete(context, params, this.optionsOf(context, ctx))),
      );
    }
    return server;
  }

  /** Calls the tool that runs the agent. Calls of all other tools are forwarded. */
  private async callAgent(
    { compose, exchange, session }: AgentServerContext,
    { name, arguments: args }: { name: string; arguments?: Record<string, unknown> | undefined },
    { mcpReq }: ServerContext,
    sendRequest: SendRequest,
  ): Promise<CallToolResult | InputRequiredResult> {
    const { ask: offer } = await compose();
    if (offer?.name !== name) throw new DomainError('unknown_tool', 'The agent has no tool with this name.');
    const progressToken = mcpReq._meta?.progressToken;
    let progress = 0;
    const onProgress = (message: string): void => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress: ++progress, message };
      // The caller may have disconnected.
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
    };
    return this.ask.call({ exchange, offer, args }, { signal: mcpReq.signal, onProgress, session, sendRequest });
  }

  private servePrompts(server: Server, context: AgentServerContext, withProtocolErrors: WithProtocolErrors): void {
    const { caller } = context;
    server.setRequestHandler('prompts/list', () =>
      withProtocolErrors(
        this.sourcesOf(caller)
          .then((sources) => this.offers.prompts(caller, sources))
          .then(({ items, meta }) => asResult({ prompts: items }, meta)),
      ),
    );
    server.setRequestHandler('prompts/get', ({ params }, ctx) =>
      withProtocolErrors(
        this.sourcesOf(caller).then(async (sources) => {
          const [source, name] = await this.offers.findPrompt(caller, sources, params.name);
          const renamed = { name, ...(params.arguments !== undefined && { arguments: params.arguments }) };
          return (await this.offers.ask([source], 'prompts/get', renamed, this.optionsOf(context, ctx))) as never;
        }),
      ),
    );
  }

  private serveResources(server: Server, context: AgentServerContext, withProtocolErrors: WithProtocolErrors): void {
    const { caller, compose } = context;
    server.setRequestHandler('resources/list', () =>
      withProtocolErrors(
        compose()
          .then((composition) => this.offers.resources(caller, composition, 'resources/list'))
          .then(({ items, meta }) => asResult({ resources: items }, meta)),
      ),
    );
    server.setRequestHandler('resources/templates/list', () =>
      withProtocolErrors(
        compose()
          .then((composition) => this.offers.resources(caller, composition, 'resources/templates/list'))
          .then(({ items, meta }) => asResult({ resourceTemplates: items }, meta)),
      ),
    );
    server.setRequestHandler('resources/read', ({ params: { uri } }, ctx) =>
      withProtocolErrors(this.readResource(context, uri, this.optionsOf(context, ctx))),
    );
  }

  private async readResource(context: AgentServerContext, uri: string, options: SourceRequestOptions): Promise<never> {
    const place = await this.findResource(context, uri).catch((error: unknown) => {
      throw error instanceof DomainError && error.code === 'not_found'
        ? new ResourceNotFoundError(uri, error.message)
        : error;
    });
    const result = await this.offers.ask(place.sources, 'resources/read', { uri: place.uri }, options);
    return renameContents(result, place.uri, uri) as never;
  }

  /** The pages of tools are known by the tools. */
  private async findResource({ caller, compose }: AgentServerContext, uri: string): Promise<ResourcePlace> {
    return this.offers.findResource(caller, await compose(), uri);
  }

  private async complete(
    server: AgentServerContext,
    { ref, argument, context }: CompletionParams,
    options: SourceRequestOptions,
  ): Promise<never> {
    const { caller } = server;
    const more = { argument, ...(context !== undefined && { context }) };
    if (ref.type === 'ref/prompt') {
      const [source, name] = await this.offers.findPrompt(caller, await this.sourcesOf(caller), ref.name);
      return (await this.offers.ask(
        [source],
        'completion/complete',
        { ref: { ...ref, name }, ...more },
        options,
      )) as never;
    }
    const { sources, uri } = await this.findResource(server, ref.uri);
    return (await this.offers.ask(sources, 'completion/complete', { ref: { ...ref, uri }, ...more }, options)) as never;
  }

  /** The connections of the agent are known without listing the upstreams' tools. */
  private async sourcesOf({ connection }: ProxyCaller): Promise<readonly Source[]> {
    return (await this.compositions.namesOf(connection)).sources;
  }

  /** Sends progress to a caller who requested it. */
  private optionsOf(
    { caller, exchange, ownerAt }: AgentServerContext,
    { mcpReq }: ServerContext,
  ): SourceRequestOptions {
    const { requestId } = caller;
    const room = this.rooms.openUntilSent(exchange.request, exchange.reply);
    const options = { signal: mcpReq.signal, requestId, ownerAt, room };
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return options;
    return {
      ...options,
      onProgress: (progress) => {
        const params = { ...progress, progressToken };
        // The caller may have disconnected.
        mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
      },
    };
  }
}

/** Sends a request to the client, in the answer to its own. */
type SendRequest = (request: SessionRequest) => void;

type WithProtocolErrors = <T>(work: Promise<T>) => Promise<T>;

interface CompletionParams {
  readonly ref:
    { readonly type: 'ref/prompt'; readonly name: string } | { readonly type: 'ref/resource'; readonly uri: string };
  readonly argument: object;
  readonly context?: object | undefined;
}

/** The items are what the upstreams sent, so they do not have the SDK's types. */
function asResult(result: object, meta: Record<string, unknown> | undefined): never {
  return { ...result, ...(meta !== undefined && { _meta: meta }) } as never;
}

/**
 * Converts an error for the SDK: an upstream's own JSON-RPC error unchanged, any other to this service's form. The
 * modern era has no error that asks to open a URL.
 */
function toProtocolError(error: unknown, requestId: string, { isModern, isUrlClient }: ClientTraits): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const { code, message, data } =
    error instanceof UpstreamError && error.rpc !== undefined
      ? error.rpc
      : rpcErrorBody(toProxyError(error), requestId, isUrlClient && !isModern);
  return new ProtocolError(isModern && code === URL_ELICITATION_REQUIRED ? SERVER_ERROR : code, message, data);
}
