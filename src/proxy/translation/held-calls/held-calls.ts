import { Injectable } from '@nestjs/common';
import type { ClientCapabilities, Implementation } from '@modelcontextprotocol/client';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import { DomainError } from '../../../core/domain-error.js';
import { isRecord } from '../../../core/is-record.js';
import { ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import { onceRead } from '../../../upstreams/messages/answer-body.js';
import { THIS_PROCESS } from '../../forwarding/asked-clients/open-requests.js';
import { hasState, RequestStates } from '../../forwarding/session/request-states.js';
import type { McpRequestContext } from '../../forwarding/upstream-router.js';
import { ownAnswer, type Sent, uniqueId, UpstreamSender } from '../../forwarding/upstream-sender.js';
import type { InboundMessage, InboundRequest } from '../../protocol/inbound-message.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { toModernAnswer, toModernMessage } from '../to-modern-answer.js';
import { HeldCall, type WaitingRequest } from './held-call.js';
import { OpenQuestions } from './open-questions.js';

const KIND = 'input';

/** The client's request for a call that can ask. */
export interface AskableRequest {
  /** As the client sent it, with its answers. */
  readonly message: InboundRequest;
  /** The requests of the upstream that the client answers. */
  readonly capabilities: ClientCapabilities;
  readonly serverInfo: Implementation | undefined;
  readonly isUrlClient: boolean;
}

/** True if the client repeats a request to answer what the upstream has asked. */
export function bringsAnswers(message: InboundMessage): boolean {
  return hasState(KIND, message);
}

/**
 * Translates the requests that a legacy upstream sends during a call into results that ask the client of the modern era
 * for input (MCP 2026-07-28, "Multi Round-Trip Requests"), and the client's answers into responses.
 */
@Injectable()
export class HeldCalls {
  constructor(
    private readonly upstream: UpstreamSender,
    private readonly states: RequestStates,
    private readonly questions: OpenQuestions,
    private readonly catalog: ToolCatalog,
    private readonly rooms: AnswerRooms,
  ) {}

  /**
   * Sends the request to the upstream, or the client's answers if it brings some.
   * @param context of the request as a legacy client would send it
   * @throws DomainError `invalid_rpc_request` for answers that nothing waits for, `conflict` if the outcome of the call
   *   that waited for them is unknown; what `UpstreamSender.sendMessage` throws
   */
  async sendMessage(
    context: McpRequestContext<InboundRequest>,
    headers: Readonly<Record<string, string>>,
    asked: AskableRequest,
  ): Promise<Sent> {
    if (!bringsAnswers(asked.message)) return this.call(context, headers, asked);
    const { request, caller } = context;
    const responses = responsesIn(asked.message);
    const state = this.states.open(KIND, { request, message: asked.message, target: targetOf(caller) });
    if (state.process !== THIS_PROCESS) {
      await this.requireRepeatable(context);
      return this.call(context, headers, asked);
    }
    const found = this.questions.answer(state.id, responses);
    if (typeof found === 'string') {
      const { id } = JSON.parse(found) as { id: string };
      return { answer: ownAnswer(found), sentId: JSON.stringify(id) };
    }
    const waiting = this.waitingFor(context, asked, (text) => this.questions.keep(state.id, text));
    const sent = found.resume(responses, waiting);
    context.deadline.onStop(() => found.cancelFor(waiting));
    return sent;
  }

  private async call(
    context: McpRequestContext<InboundRequest>,
    headers: Readonly<Record<string, string>>,
    asked: AskableRequest,
  ): Promise<Sent> {
    const sentId = uniqueId();
    const waiting = this.waitingFor(context, asked, () => undefined);
    const held = new HeldCall(sentId, waiting);
    context.deadline.onStop(() => held.cancelFor(waiting));
    const { deadline } = held;
    const sending = this.upstream.sendMessage({ ...context, deadline, receiver: held, sentId }, headers);
    const begun = await held.begin(sending);
    if ('held' in begun) return begun.held;
    const { answer } = begun.whole;
    onceRead(answer.body, () => deadline.end());
    return { ...begun.whole, answer: toModernAnswer(answer, answeredBy(context, asked), waiting.response) };
  }

  private waitingFor(
    context: McpRequestContext<InboundRequest>,
    asked: AskableRequest,
    keep: (text: string) => void,
  ): WaitingRequest {
    const { request, reply, caller } = context;
    const { message, capabilities } = asked;
    const target = targetOf(caller);
    const meta = message.params['_meta'];
    return {
      response: { request, reply, rooms: this.rooms },
      meta: isRecord(meta) ? meta : {},
      capabilities,
      translate: (text) => toModernMessage(text, answeredBy(context, asked)),
      hold: (call, size) => {
        const { id, state } = this.states.seal(KIND, { request, message, target }, { process: THIS_PROCESS });
        // The call keeps the client's request, and the one that was sent.
        const held = size + message.body.length + context.message.body.length;
        this.questions.hold(id, call, caller, held);
        return state;
      },
      onAnswer: keep,
    };
  }

  /** The process that held the call has ended, or is another one. @throws DomainError `conflict` */
  private async requireRepeatable({
    caller: { connection },
    message: { method, params },
  }: McpRequestContext<InboundRequest>): Promise<void> {
    if (method !== 'tools/call') return;
    const { tools } = await this.catalog.toolsOf(connection);
    const annotations = tools.get(String(params['name']))?.definition.annotations;
    if (annotations?.readOnlyHint === true || annotations?.idempotentHint === true) return;
    throw new DomainError(
      'conflict',
      'The process that waited for the answers does not run any more, or is another one. The outcome of the call is ' +
        'unknown, and the tool does not declare that its calls can be repeated.',
    );
  }
}

/** An edit of the connection changes where the answers would go. */
function targetOf({ connection: { id, revision } }: ProxyCaller): string {
  return `${id}:${revision}`;
}

function answeredBy(
  { message: { method } }: McpRequestContext<InboundRequest>,
  { serverInfo, isUrlClient }: AskableRequest,
) {
  return { method, serverInfo, isUrlClient };
}

/** @throws DomainError `invalid_rpc_request` */
function responsesIn({ params: { inputResponses = {} } }: InboundRequest): Readonly<Record<string, object>> {
  if (isRecord(inputResponses) && Object.values(inputResponses).every(isRecord)) {
    return inputResponses as Record<string, object>;
  }
  throw new DomainError('invalid_rpc_request', '`params.inputResponses` must be an object of objects.');
}
