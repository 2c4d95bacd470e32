import { Injectable } from '@nestjs/common';
import { type Composition, isListed, type ToolPlace, isForModels } from '../../agents/composition/composition.js';
import { SEARCH_TOOLS } from '../../agents/composition/tool-naming.js';
import { toDefinitions, toToolQuery } from '../../agents/search/search-tools.js';
import { ToolSearch } from '../../agents/search/tool-search.js';
import { requireActive } from '../../connections/connection.js';
import { DomainError } from '../../core/domain-error.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { type Invocation, InvocationLog, outcomeOf, SUCCESS } from '../../upstreams/invocation.js';
import type { McpRequestContext, PooledRoute } from '../forwarding/upstream-router.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import { type InboundMessage, isModernMessage } from '../protocol/inbound-message.js';
import { credentialMissing, type ProxyCaller } from '../protocol/proxy-caller.js';
import { isAnswerable } from '../translation/modern-envelope.js';
import { toModernMessage } from '../translation/to-modern-answer.js';
import { AgentAnswers } from './agent-answers.js';
import type { SessionOwner } from './client-upstream-sessions/client-upstream-session.js';
import { SessionComposition } from './client-upstream-sessions/session-composition.js';
import { agentCallOf } from './agent-call.js';
import { serverInfoOf } from './offering/agent-mcp-server.js';
import { holdsAny, sees } from './offering/agent-permissions.js';

/** Answers calls of `search_tools` for the clients of an agent. */
@Injectable()
export class AgentToolSearch {
  constructor(
    private readonly compositions: SessionComposition,
    private readonly search: ToolSearch,
    private readonly invocations: InvocationLog,
    private readonly answers: AgentAnswers,
    private readonly writer: ReplyWriter,
  ) {}

  /**
   * Answers and records a search. False for any other message, and for an agent that offers all of its tools: the name
   * can be that of an upstream's tool then.
   * @param owner of the session with the agent, if its client answers requests
   * @throws DomainError `invalid_arguments`, `permission_denied`, `credential_missing`
   */
  async answerSearch(context: McpRequestContext<InboundMessage, PooledRoute>, owner?: SessionOwner): Promise<boolean> {
    const { caller, message, request, reply } = context;
    if (message.kind !== 'request' || message.params['name'] !== SEARCH_TOOLS) return false;
    requireActive(caller.connection);
    const composition = await this.compositions.compositionFor(caller, owner);
    if (composition.toolMode === 'all') return false;
    const isModern = isModernMessage(request.headers, message);
    if (isModern && !isAnswerable(request.headers, message)) {
      // The MCP server of this service describes what is wrong.
      await this.answers.answer(context);
      return true;
    }
    const invocation = this.openInvocation(context);
    try {
      const args = message.params['arguments'];
      const result = toDefinitions(await this.findFor(caller, composition, args));
      await invocation.settle(SUCCESS, result);
      const text = `{"jsonrpc":"2.0","id":${message.id},"result":${JSON.stringify(result)}}`;
      const body = isModern ? toModernMessage(text, { method: 'tools/call', serverInfo: serverInfoOf(caller) }) : text;
      this.writer.writeReply(request, reply, { status: 200, contentType: 'application/json', body }, {});
      return true;
    } catch (error) {
      await invocation.settle(outcomeOf(error));
      throw toDomainError(error);
    }
  }

  /** Only who is permitted to call a tool of the agent can search, whether or not it can be listed at the moment. */
  private findFor(caller: ProxyCaller, composition: Composition, args: unknown): Promise<ToolPlace[]> {
    const isPermitted = (place: ToolPlace): boolean => isListed(place) && isForModels(place) && sees(caller, place);
    const places = [...composition.places.values()];
    const isGranted =
      places.length === 0 ? holdsAny(caller, composition.sources) : places.some((place) => sees(caller, place));
    if (!isGranted) {
      throw caller.principal === undefined
        ? credentialMissing()
        : new DomainError('permission_denied', 'The caller is not permitted to call any tool of the agent.');
    }
    return this.search.findTools(caller.connection.organizationId, composition, toToolQuery(args), isPermitted);
  }

  private openInvocation(context: McpRequestContext): Invocation {
    const call = agentCallOf(context, SEARCH_TOOLS, context.message.params['arguments']);
    return this.invocations.openInvocation(call, {
      isKnownTool: true,
      isPublic: context.caller.principal === undefined,
      startedAt: performance.now(),
    });
  }
}
