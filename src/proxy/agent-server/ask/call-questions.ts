import { Injectable } from '@nestjs/common';
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { isRecord } from '../../../core/is-record.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { hasState, invalidState, RequestStates } from '../../forwarding/session/request-states.js';
import { answeredRequests } from '../../protocol/client-capabilities.js';
import { isModernMessage } from '../../protocol/inbound-message.js';
import { AskApprovals, mayAnswer } from './ask-approvals.js';
import { type AskExchange, principalOf } from './asked-runs.js';

const KIND = 'ask';

/**
 * Asks modern clients without tasks for approvals, by the result of the call (MCP 2026-07-28, "Multi Round-Trip
 * Requests"). The client repeats the call with its answers, and waits for the same run: its `requestState` names it, so
 * any process can continue, and a repetition posts nothing.
 */
@Injectable()
export class CallQuestions {
  constructor(
    private readonly states: RequestStates,
    private readonly results: RunResultService,
    private readonly approvals: AskApprovals,
  ) {}

  /**
   * Takes the answers of a repeated call, and returns its run; undefined for a new call.
   * @throws DomainError `invalid_rpc_request` for a state that is not valid, `invalid_arguments`, `permission_denied`
   */
  async resume(exchange: AskExchange): Promise<RunEntity | undefined> {
    const { request, message } = exchange;
    if (!isModernMessage(request.headers, message) || message.params['requestState'] === undefined) return undefined;
    if (!hasState(KIND, message)) throw invalidState();
    const { runId = '' } = this.states.open(KIND, { request, message });
    const run = await this.results.findReadable(principalOf(exchange), runId);
    const { inputResponses } = message.params;
    if (inputResponses !== undefined) await this.approvals.takeAnswers(exchange, run, inputResponses);
    return run;
  }

  /**
   * The result that asks the client; undefined if there is nothing to ask, or nobody. A question that the client has
   * left open in this very request waits for somebody else.
   */
  async ask(exchange: AskExchange, run: RunEntity): Promise<InputRequiredResult | undefined> {
    const { request, message } = exchange;
    const canAsk = isModernMessage(request.headers, message) && answeredRequests(message)?.elicitation?.form;
    if (run.status !== 'waiting' || !canAsk || !mayAnswer(exchange)) return undefined;
    const { requests = {} } = (await this.approvals.questionsNow(exchange, run)) ?? {};
    const { inputResponses } = message.params;
    const isOpen = (id: string): boolean => !isRecord(inputResponses) || !Object.hasOwn(inputResponses, id);
    const inputRequests = Object.fromEntries(Object.entries(requests).filter(([id]) => isOpen(id)));
    if (Object.keys(inputRequests).length === 0) return undefined;
    const { state } = this.states.seal(KIND, { request, message }, { runId: run.id });
    return { resultType: 'input_required', inputRequests, requestState: state };
  }
}
