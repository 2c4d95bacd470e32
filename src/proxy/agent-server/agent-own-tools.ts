import { Injectable } from '@nestjs/common';
import { isAskName } from '../../agents/composition/tool-naming.js';
import { requireActive } from '../../connections/connection.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import { isTaskRequest } from '../forwarding/tasks/task-messages.js';
import type { McpRequestContext, PooledRoute } from '../forwarding/upstream-router.js';
import { type InboundMessage, type InboundRequest, isModernMessage } from '../protocol/inbound-message.js';
import { credentialMissing } from '../protocol/proxy-caller.js';
import { declaresTasks } from '../protocol/client-capabilities.js';
import { isAnswerable } from '../translation/modern-envelope.js';
import { SERVER_INFO } from '../translation/to-modern-answer.js';
import { AgentAnswers } from './agent-answers.js';
import { AgentToolSearch } from './agent-tool-search.js';
import { AskTasks } from './ask/ask-tasks.js';
import { LegacyAskRequests } from './legacy-ask-requests.js';
import type { SessionOwner } from './client-upstream-sessions/client-upstream-session.js';
import { SessionComposition } from './client-upstream-sessions/session-composition.js';
import { serverInfoOf } from './offering/agent-mcp-server.js';

type AgentRequest = McpRequestContext<InboundMessage, PooledRoute>;

/** Answers what concerns the tools that an agent has itself: its search, and the tool that runs it. */
@Injectable()
export class AgentOwnTools {
  constructor(
    private readonly search: AgentToolSearch,
    private readonly asks: AskTasks,
    private readonly legacy: LegacyAskRequests,
    private readonly answers: AgentAnswers,
    private readonly compositions: SessionComposition,
    private readonly writer: ReplyWriter,
  ) {}

  /**
   * Answers a call of such a tool; false for a call of an upstream's.
   * @param owner of the session with the agent, if its client answers requests
   * @throws DomainError
   */
  async answerCall(context: AgentRequest, owner?: SessionOwner): Promise<boolean> {
    return (await this.answerAsk(context, owner)) || this.search.answerSearch(context, owner);
  }

  /** Answers what concerns a task of the tool that runs the agent; false for any other message. @throws DomainError */
  async answerTask(context: AgentRequest): Promise<boolean> {
    const { message, request } = context;
    if (!isModernMessage(request.headers, message)) return this.legacy.answer(context);
    if (message.kind !== 'request' || !isTaskRequest(message) || !isAnswerable(request.headers, message)) return false;
    const result = await this.asks.answer(context, message);
    if (result === undefined) return false;
    this.write(context, message, result);
    return true;
  }

  private async answerAsk(context: AgentRequest, owner?: SessionOwner): Promise<boolean> {
    const { caller, message, request } = context;
    if (message.kind !== 'request' || !isAskName(message.params['name'])) return false;
    requireActive(caller.connection);
    const { ask: offer } = await this.compositions.compositionFor(caller, owner);
    if (offer?.name !== message.params['name']) return false;
    if (caller.principal === undefined) throw credentialMissing();
    const call = { exchange: context, offer, args: message.params['arguments'] };
    const isModern = isModernMessage(request.headers, message);
    // A repetition answers the questions of a call without a task, whatever it declares.
    const isRepeated = message.params['requestState'] !== undefined;
    if (isModern && !isRepeated && declaresTasks(message) && isAnswerable(request.headers, message)) {
      this.write(context, message, await this.asks.create(call));
    } else if (!isModern && message.params['task'] !== undefined) {
      await this.legacy.createTask({ ...context, message }, call);
    } else {
      // The MCP server of this service sends progress until the run is over.
      await this.answers.answer(context, owner);
    }
    return true;
  }

  private write({ caller, request, reply }: AgentRequest, { id }: InboundRequest, result: object): void {
    const modern = { resultType: 'complete', ...result, _meta: { [SERVER_INFO]: serverInfoOf(caller) } };
    const body = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(modern)}}`;
    this.writer.writeReply(request, reply, { status: 200, contentType: 'application/json', body }, {});
  }
}
