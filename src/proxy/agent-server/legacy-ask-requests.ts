import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import { messageEvent } from '../../upstreams/messages/sse-parts.js';
import { keepAlive } from '../forwarding/relay/keep-alive.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import type { McpRequestContext, PooledRoute } from '../forwarding/upstream-router.js';
import { type InboundMessage, type InboundRequest, sendNoAnswer, takesStream } from '../protocol/inbound-message.js';
import type { AskCall } from './ask/ask-tool.js';
import { LegacyAskTasks, LegacyTaskResults } from './ask/legacy-ask-tasks.js';
import { SessionQuestions } from './ask/session-questions.js';

type LegacyMessage<M extends InboundMessage = InboundMessage> = McpRequestContext<M, PooledRoute>;

/** What clients of the legacy era send about tasks of the tool that runs an agent (MCP 2025-11-25, "Tasks"). */
@Injectable()
export class LegacyAskRequests {
  constructor(
    private readonly tasks: LegacyAskTasks,
    private readonly results: LegacyTaskResults,
    private readonly questions: SessionQuestions,
    private readonly compositions: AgentComposition,
    private readonly writer: ReplyWriter,
  ) {}

  /** Answers a call of the tool with a task. @throws DomainError */
  async createTask(context: LegacyMessage<InboundRequest>, call: AskCall): Promise<void> {
    this.write(context, await this.tasks.create(call, context.message.params['task']));
  }

  /**
   * Answers a request about a task, and takes the answer to a question; false for any other message, and if the agent
   * is no tool.
   * @throws DomainError
   */
  async answer(context: LegacyMessage): Promise<boolean> {
    const { message, caller, route, reply } = context;
    if (caller.principal === undefined) return false;
    if (message.kind === 'answer') {
      const { session } = route;
      if (session === undefined || !(await this.questions.takeAnswer(context, message, session))) return false;
      await reply.status(202).send();
      return true;
    }
    if (message.kind !== 'request' || !message.method.startsWith('tasks/')) return false;
    const { ask: offer } = await this.compositions.compositionOf(caller.connection);
    return offer !== undefined && this.answerRequest({ ...context, message }, offer.timeoutS);
  }

  private async answerRequest(context: LegacyMessage<InboundRequest>, timeoutS: number): Promise<boolean> {
    const { message, route } = context;
    const { method, params } = message;
    const canAsk = this.questions.canAsk(context, route.session);
    if (method === 'tasks/get') this.write(context, await this.tasks.describe(context, params['taskId'], canAsk));
    else if (method === 'tasks/list') this.write(context, await this.tasks.list(context, params, canAsk));
    else if (method === 'tasks/cancel') this.write(context, await this.tasks.cancel(context, params['taskId']));
    else if (method === 'tasks/result') await this.sendResult(context, timeoutS, canAsk);
    else return false;
    return true;
  }

  private async sendResult(context: LegacyMessage<InboundRequest>, timeoutS: number, canAsk: boolean): Promise<void> {
    const { message, route, request, reply, cancelled } = context;
    const { taskId } = message.params;
    const run = await this.tasks.find(context, taskId);
    const session = canAsk ? route.session : undefined;
    const asked = { id: message.id, taskId: String(taskId), timeoutS, session, cancelled };
    const messages = this.results.messages(context, run, asked);
    if (takesStream(request.headers)) {
      const body = keepAlive(eventsOf(messages));
      this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
      return;
    }
    let answer: string | undefined;
    for await (const text of messages) answer = text;
    if (answer === undefined) await sendNoAnswer(request, reply);
    else this.writer.writeReply(request, reply, { status: 200, contentType: 'application/json', body: answer }, {});
  }

  private write({ request, reply, message: { id } }: LegacyMessage<InboundRequest>, result: object): void {
    const body = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
    this.writer.writeReply(request, reply, { status: 200, contentType: 'application/json', body }, {});
  }
}

async function* eventsOf(messages: AsyncGenerator<string>): AsyncGenerator<Buffer> {
  for await (const text of messages) yield messageEvent(text);
}
