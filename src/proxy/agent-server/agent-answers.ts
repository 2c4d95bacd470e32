import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import type { Composition } from '../../agents/composition/composition.js';
import { AgentsService } from '../../agents/records/agents.service.js';
import { DomainError } from '../../core/domain-error.js';
import { allowsNothing } from '../../core/permissions.js';
import { withTimeout } from '../../core/with-timeout.js';
import { type McpRequestContext, pooledRoute, type PooledRoute } from '../forwarding/upstream-router.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import { toStoredInitialize, SealedSessions } from '../forwarding/session/sealed-sessions.js';
import { HostedMcp } from '../protocol/hosted-mcp.js';
import {
  declaresApps,
  declaresUrlElicitation,
  hasUrlElicitation,
  answeredRequests,
} from '../protocol/client-capabilities.js';
import { type InboundMessage, type InboundRequest, isModernMessage, takesStream } from '../protocol/inbound-message.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { ANSWERING } from '../translation/modern-envelope.js';
import { toModernMessage } from '../translation/to-modern-answer.js';
import { mayAsk } from './ask/ask-definition.js';
import type { SessionOwner } from './client-upstream-sessions/client-upstream-session.js';
import { SessionComposition } from './client-upstream-sessions/session-composition.js';
import { ALL_FEATURES, AgentCapabilities } from './offering/agent-capabilities.js';
import { AgentMcpServer, type AgentServerContext, serverInfoOf } from './offering/agent-mcp-server.js';
import { AgentNotificationStream } from './offering/agent-notification-stream.js';
import { holdsAny } from './offering/agent-permissions.js';
import {
  hindranceFor,
  type ToolListOptions,
  type ToolListTexts,
  toolListTexts,
  wantsAllTools,
} from './offering/agent-tool-list.js';

/** The beginning of the tools in a result. */
const TOOLS = '"tools":[';
/** How long a description waits for upstreams that were not asked before, in milliseconds. */
const HINDRANCE_WAIT_MS = 250;

/**
 * Answers what concerns the agent as a whole. The tool list is composed here; an MCP server of this service answers the
 * rest.
 */
@Injectable()
export class AgentAnswers implements OnApplicationShutdown {
  private readonly hosted: HostedMcp<AgentServerContext>;
  /** For calls of the tool that runs the agent, which take long. */
  private readonly streamed: HostedMcp<AgentServerContext>;

  constructor(
    servers: AgentMcpServer,
    private readonly agents: AgentsService,
    private readonly compositions: AgentComposition,
    private readonly sessionCompositions: SessionComposition,
    private readonly capabilities: AgentCapabilities,
    private readonly notifications: AgentNotificationStream,
    private readonly sealedSessions: SealedSessions,
    private readonly writer: ReplyWriter,
  ) {
    this.hosted = new HostedMcp((context) => servers.for(context));
    this.streamed = new HostedMcp((context) => servers.for(context), { responseMode: 'sse' });
  }

  /** @param owner of the session with the agent, if its client answers requests @throws DomainError `invalid_cursor` */
  async listTools(
    { request, reply, caller, message }: McpRequestContext<InboundRequest>,
    owner: SessionOwner | undefined,
  ): Promise<void> {
    const { id, params } = message;
    // The list has a single page.
    if (params['cursor'] !== undefined) throw new DomainError('invalid_cursor');
    const options = { isWhole: wantsAllTools(params), hasApps: request.hasApps === true };
    const { tools, others } = await this.listOf(caller, owner, options);
    const empty = `{"jsonrpc":"2.0","id":${id},"result":{${TOOLS}]${others}}}`;
    // The SDK's server would omit what tools of the modern era do not have, such as `execution`.
    const isModern = isModernMessage(request.headers, message);
    const text = isModern ? toModernMessage(empty, { method: 'tools/list', serverInfo: serverInfoOf(caller) }) : empty;
    // Inside of a string, the quotes would be escaped.
    const at = text.indexOf(TOOLS) + TOOLS.length;
    this.writer.writeJson(request, reply, [text.slice(0, at), ...tools, text.slice(at)]);
  }

  /**
   * Answers everything but tool calls and well-formed lists of tools.
   * @param owner of the session with the agent, if its client answers requests
   * @throws DomainError
   */
  async answer(context: McpRequestContext<InboundMessage, PooledRoute>, owner?: SessionOwner): Promise<void> {
    const { request, reply, message, cancelled } = context;
    const serverContext = await this.serverContextOf(context, owner);
    if (message.method === 'initialize' && !isModernMessage(request.headers, message)) this.announceSession(context);
    const parsed = JSON.parse(message.body.toString('utf8')) as Record<string, unknown>;
    if (message.method === 'subscriptions/listen') {
      await this.notifications.subscribe(request, reply, parsed, { ...serverContext, exchange: context });
    } else {
      const isStreamed = message.method === 'tools/call' && takesStream(request.headers);
      const hosted = isStreamed ? this.streamed : this.hosted;
      await hosted.answerRequest(request, reply, parsed, serverContext, cancelled);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.hosted.close(), this.streamed.close()]);
  }

  private async listOf(
    caller: ProxyCaller,
    owner: SessionOwner | undefined,
    options: ToolListOptions,
  ): Promise<ToolListTexts> {
    const { principal, connection } = caller;
    const mayBePublic = connection.publicTools === 'honor';
    // The list is empty whatever the agent consists of.
    const isGranted = principal === undefined || !allowsNothing(principal.permissions);
    if (!mayBePublic && !isGranted && !mayAsk(caller)) return { tools: [], others: '' };
    return toolListTexts(caller, await this.sessionCompositions.compositionFor(caller, owner), options);
  }

  private announceSession({ reply, caller, message }: McpRequestContext): void {
    const initialize = clientInitialize(message);
    const answers = caller.principal && answeredRequests(message);
    const session = {
      hasOwnTools: false,
      ...(answers !== undefined && { answers }),
      ...(declaresUrlElicitation(message) && { hasUrlElicitation: true as const }),
      ...(declaresApps(message) && { hasApps: true as const }),
      ...(initialize !== undefined && { initialize }),
    };
    reply.header('mcp-session-id', this.sealedSessions.seal(session, caller.connection, caller.principal));
  }

  private async serverContextOf(
    exchange: McpRequestContext<InboundMessage, PooledRoute>,
    sessionOwner: SessionOwner | undefined,
  ): Promise<AgentServerContext> {
    const { caller, message, request, route } = exchange;
    const { session } = route;
    const ownerAt: AgentServerContext['ownerAt'] = (connection) =>
      pooledRoute({ principal: caller.principal, connection }, message, session).owner;
    const compose = (): Promise<Composition> => this.sessionCompositions.compositionFor(caller, sessionOwner);
    const isModern = isModernMessage(request.headers, message);
    const client = { isModern, isUrlClient: hasUrlElicitation(request, message) };
    if (!requestsDescription(message)) {
      return { caller, exchange, session, compose, ownerAt, features: ALL_FEATURES, instructions: undefined, client };
    }
    const { id, organizationId, accountUserId } = caller.connection;
    const reading = this.agents.findForRun(organizationId, id);
    const [agent, { sources }] = await Promise.all([
      reading,
      this.compositions.namesOf({ id, organizationId, reading, accountUserId }),
    ]);
    // Instructions can reveal more of the agent than its public tools do.
    const isTrusted = holdsAny(caller, sources);
    const [offered, hindrance] = await Promise.all([
      this.capabilities.featuresFor(caller, sources),
      isTrusted ? this.hindranceOf(caller) : undefined,
    ]);
    const isTool = agent?.exposeRun === true && mayAsk(caller);
    const features = { ...offered, tasks: offered.tasks || isTool, legacyTasks: isTool };
    const texts = [isTrusted ? (agent?.instructions ?? '') : '', hindrance ?? ''].filter((text) => text !== '');
    const instructions = texts.length === 0 ? undefined : texts.join('\n\n');
    return { caller, exchange, session, compose, ownerAt, features, instructions, client };
  }

  /** Which connections wait for a sign-in; undefined if there is none, or if that is not known in time. */
  private async hindranceOf(caller: ProxyCaller): Promise<string | undefined> {
    const composing = this.compositions.compositionOf(caller.connection).then(
      ({ unavailable }) => hindranceFor(caller, unavailable)?.message,
      () => undefined,
    );
    return withTimeout(composing, HINDRANCE_WAIT_MS, () => undefined, { ref: false });
  }
}

function requestsDescription({ method }: InboundMessage): boolean {
  return method === 'initialize' || method === 'server/discover';
}

/**
 * The `initialize` that opens sessions with connections of the agent in the name of a client that answers requests, as
 * JSON text; undefined for other clients.
 * @throws DomainError `invalid_rpc_request` if it is too large to store
 */
function clientInitialize(message: InboundMessage): string | undefined {
  const declared = message.params['capabilities'] as Record<string, unknown> | null | undefined;
  const answerable = Object.entries(declared ?? {}).filter(([name]) => ANSWERING.includes(name));
  if (answerable.length === 0) return undefined;
  return toStoredInitialize({
    ...message,
    params: { ...message.params, capabilities: Object.fromEntries(answerable) },
  });
}
