import { Injectable } from '@nestjs/common';
import { ProtocolError, ResourceNotFoundError, Server, type ServerContext } from '@modelcontextprotocol/server';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import type { Source } from '../../../agents/composition/composition.js';
import { DomainError } from '../../../common/domain-error.js';
import type { CallToolOptions } from '../../../upstreams/contract/upstream.js';
import { version } from '../../../common/version.js';
import { rpcErrorBody } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { AgentPromptsAndResources } from './agent-prompts-and-resources.js';
import type { AgentFeatures } from './agent-capabilities.js';
import { toolsFor, unavailableMeta } from './agent-tool-list.js';

/** One request to an agent, as its server has to know it. */
export interface AgentServerContext {
  readonly caller: ProxyCaller;
  readonly features: AgentFeatures;
  readonly instructions: string | undefined;
}

/** An agent as an MCP server, for everything that is not passed on as bytes. */
@Injectable()
export class AgentMcpServer {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly offers: AgentPromptsAndResources,
  ) {}

  /** A server for one request. */
  for(context: AgentServerContext): Server {
    const { caller, instructions, features } = context;
    const capabilities = {
      tools: { listChanged: true },
      ...(features.prompts && { prompts: { listChanged: true } }),
      ...(features.resources && {
        resources: { listChanged: true, ...(features.subscriptions && { subscribe: true }) },
      }),
      ...(features.completions && { completions: {} }),
      ...(features.logging && { logging: {} }),
    };
    const server = new Server(
      { name: 'signalbox', title: caller.connection.title, version },
      { capabilities, ...(instructions !== undefined && { instructions }) },
    );
    const explained = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        throw toProtocolError(error, caller.requestId);
      }
    };
    server.setRequestHandler('tools/list', () => explained(this.listTools(caller)));
    if (features.prompts) this.servePrompts(server, caller, explained);
    if (features.resources) this.serveResources(server, caller, explained);
    if (features.completions) {
      server.setRequestHandler('completion/complete', ({ params }, ctx) =>
        explained(this.complete(caller, params, optionsOf(caller, ctx))),
      );
    }
    return server;
  }

  private servePrompts(server: Server, caller: ProxyCaller, explained: Explained): void {
    server.setRequestHandler('prompts/list', () =>
      explained(
        this.sourcesOf(caller)
          .then((sources) => this.offers.prompts(caller, sources))
          .then(({ items, meta }) => asResult({ prompts: items }, meta)),
      ),
    );
    server.setRequestHandler('prompts/get', ({ params }, ctx) =>
      explained(
        this.sourcesOf(caller).then(async (sources) => {
          const [source, name] = await this.offers.findPrompt(caller, sources, params.name);
          const asked = { name, ...(params.arguments !== undefined && { arguments: params.arguments }) };
          return (await this.offers.ask([source], 'prompts/get', asked, optionsOf(caller, ctx))) as never;
        }),
      ),
    );
  }

  private serveResources(server: Server, caller: ProxyCaller, explained: Explained): void {
    server.setRequestHandler('resources/list', () =>
      explained(
        this.sourcesOf(caller)
          .then((sources) => this.offers.resources(caller, sources, 'resources/list'))
          .then(({ items, meta }) => asResult({ resources: items }, meta)),
      ),
    );
    server.setRequestHandler('resources/templates/list', () =>
      explained(
        this.sourcesOf(caller)
          .then((sources) => this.offers.resources(caller, sources, 'resources/templates/list'))
          .then(({ items, meta }) => asResult({ resourceTemplates: items }, meta)),
      ),
    );
    server.setRequestHandler('resources/read', ({ params: { uri } }, ctx) =>
      explained(
        this.sourcesOf(caller).then(async (sources) => {
          const having = await this.offers.findResource(caller, sources, uri).catch((error: unknown) => {
            throw error instanceof DomainError && error.code === 'not_found'
              ? new ResourceNotFoundError(uri, error.message)
              : error;
          });
          return (await this.offers.ask(having, 'resources/read', { uri }, optionsOf(caller, ctx))) as never;
        }),
      ),
    );
  }

  private async listTools(caller: ProxyCaller): Promise<never> {
    const composition = await this.compositions.of(caller.connection);
    return asResult({ tools: toolsFor(caller, composition) }, unavailableMeta(caller, composition.unavailable));
  }

  private async complete(
    caller: ProxyCaller,
    { ref, argument, context }: CompletionParams,
    options: CallToolOptions,
  ): Promise<never> {
    const sources = await this.sourcesOf(caller);
    const more = { argument, ...(context !== undefined && { context }) };
    if (ref.type === 'ref/prompt') {
      const [source, name] = await this.offers.findPrompt(caller, sources, ref.name);
      return (await this.offers.ask(
        [source],
        'completion/complete',
        { ref: { ...ref, name }, ...more },
        options,
      )) as never;
    }
    const having = await this.offers.findResource(caller, sources, ref.uri);
    return (await this.offers.ask(having, 'completion/complete', { ref, ...more }, options)) as never;
  }

  /** What the agent consists of shows without its upstreams being asked for their tools. */
  private async sourcesOf({ connection }: ProxyCaller): Promise<readonly Source[]> {
    return (await this.compositions.namesOf(connection)).sources;
  }
}

type Explained = <T>(work: Promise<T>) => Promise<T>;

interface CompletionParams {
  readonly ref:
    { readonly type: 'ref/prompt'; readonly name: string } | { readonly type: 'ref/resource'; readonly uri: string };
  readonly argument: object;
  readonly context?: object | undefined;
}

/** The members are as the upstreams sent them, which the SDK's types cannot know. */
function asResult(result: object, meta: Record<string, unknown> | undefined): never {
  return { ...result, ...(meta !== undefined && { _meta: meta }) } as never;
}

/** Progress goes to a caller who asked for it. */
function optionsOf({ requestId }: ProxyCaller, { mcpReq }: ServerContext): CallToolOptions {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { signal: mcpReq.signal, requestId };
  return {
    signal: mcpReq.signal,
    requestId,
    onProgress: (progress) => {
      const params = { ...progress, progressToken };
      // A caller who has gone hears nothing.
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
    },
  };
}

/** The error as an MCP server reports it: an upstream's own JSON-RPC error as it came, others as this service's. */
function toProtocolError(error: unknown, requestId: string): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const { code, message, data } =
    error instanceof UpstreamError && error.rpc !== undefined
      ? error.rpc
      : rpcErrorBody(toProxyError(error), requestId);
  return new ProtocolError(code, message, data);
}
