import { Injectable, Logger } from '@nestjs/common';
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import type { AskOffer } from '../../../agents/composition/composition.js';
import { DomainError } from '../../../core/domain-error.js';
import { toDomainError } from '../../../core/to-domain-error.js';
import { RunCancellationService } from '../../../runtime/runs/run-cancellation.service.js';
import type { WaitingEnd } from '../../../runtime/turns/run-waiting.js';
import { type Invocation, InvocationLog, outcomeOf, SUCCESS, TOOL_FAILED } from '../../../upstreams/invocation.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { toolFailure } from '../../protocol/to-proxy-error.js';
import { agentCallOf } from '../agent-call.js';
import { namingRun, toToolResult, type AskedRun, AskedRuns, type AskExchange, principalOf } from './asked-runs.js';
import { AskApprovals, mayAnswer } from './ask-approvals.js';
import { type SessionRequest, SessionQuestions } from './session-questions.js';
import { isRecord } from '../../../core/is-record.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { hasState, invalidState, RequestStates } from '../../forwarding/session/request-states.js';
import { answeredRequests } from '../../protocol/client-capabilities.js';
import { isModernMessage } from '../../protocol/inbound-message.js';

/** A call of the tool that runs the agent. */
export interface AskCall {
  readonly exchange: AskExchange;
  readonly offer: AskOffer;
  readonly args: unknown;
}

/** Who waits for the answer to such a call. */
interface Waiter {
  readonly signal: AbortSignal;
  readonly onProgress: (status: string) => void;
  /** In which requests can be sent to the client; undefined for a client without one. */
  readonly session: Session | undefined;
  /** Sends a request in the answer to the call. */
  readonly sendRequest: (request: SessionRequest) => void;
}

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

/**
 * Runs agents as tools. A caller that waits for the answer and leaves cancels the run, unless it has been asked: then
 * other requests of its client can wait for the same run.
 */
@Injectable()
export class AskTool {
  private readonly logger = new Logger(AskTool.name);

  constructor(
    private readonly runs: AskedRuns,
    private readonly questions: CallQuestions,
    private readonly sessionQuestions: SessionQuestions,
    private readonly approvals: AskApprovals,
    private readonly cancellation: RunCancellationService,
    private readonly invocations: InvocationLog,
  ) {}

  /**
   * Starts the run, and returns its answer once it is over, or what the client is asked before. Faults are results,
   * which a model can read; they name the run if there is one, because it may go on.
   * @throws DomainError `invalid_rpc_request` for a `requestState` that is not valid
   */
  async call(call: AskCall, waiter: Waiter): Promise<CallToolResult | InputRequiredResult> {
    const { exchange } = call;
    const invocation = this.openInvocation(call);
    let run: AskedRun | undefined;
    try {
      const resumed = await this.questions.resume(exchange);
      run = resumed ?? (await this.runs.start(exchange, call.args));
      const end = await this.untilOverOrAsking(call, run, waiter);
      if (typeof end === 'object') {
        await invocation.settle(SUCCESS);
        return end;
      }
      if (end !== 'over') throw await this.giveUp(call, run, { end, isShared: resumed !== undefined });
      const result = toToolResult(await this.runs.read(exchange, run.id), run);
      await invocation.settle(result.isError === true ? TOOL_FAILED : SUCCESS, result);
      return result;
    } catch (error) {
      await invocation.settle(outcomeOf(error));
      if (error instanceof DomainError && error.code === 'invalid_rpc_request') throw error;
      const failure = toolFailure(toDomainError(error), exchange.caller.requestId);
      return run === undefined ? failure : namingRun(failure, run);
    }
  }

  /** Starts the run, and returns it at once. @throws what `AskedRuns.start` throws */
  async begin(call: AskCall): Promise<AskedRun> {
    const invocation = this.openInvocation(call);
    try {
      const run = await this.runs.start(call.exchange, call.args);
      await invocation.settle(SUCCESS, { task_id: run.id, thread_id: run.threadId });
      return run;
    } catch (error) {
      await invocation.settle(outcomeOf(error));
      throw error;
    }
  }

  /** Cancels a run whose answer nobody can get. Never rejects. */
  async cancel(exchange: AskExchange, { id }: AskedRun): Promise<void> {
    await this.cancellation
      .cancelRun(id, principalOf(exchange))
      .catch((error: unknown) => this.logger.warn({ run_id: id, err: error }, 'Could not cancel a run'));
  }

  /** Waits until the run is over, or the client is to be asked. */
  private async untilOverOrAsking(
    { exchange, offer }: AskCall,
    run: AskedRun,
    { signal, onProgress, session, sendRequest }: Waiter,
  ): Promise<WaitingEnd | InputRequiredResult> {
    const asked = new Set<string>();
    const watching = this.runs.watch(exchange, run, { timeoutS: offer.timeoutS, signal });
    try {
      for (;;) {
        const looked = await watching.next();
        if (looked.done === true) return looked.value;
        onProgress(looked.value.status);
        const asking = await this.questions.ask(exchange, looked.value);
        if (asking !== undefined) return asking;
        if (!this.sessionQuestions.canAsk(exchange, session)) continue;
        const questions = await this.approvals.questionsNow(exchange, looked.value);
        for (const request of this.sessionQuestions.requestsFor(session, run.id, questions, asked))
          sendRequest(request);
      }
    } finally {
      await watching.return('left');
    }
  }

  /** What ended the wait, as an error. Where nobody can read the answer any more, the run is cancelled. */
  private async giveUp(
    { exchange, offer }: AskCall,
    run: AskedRun,
    { end, isShared }: { readonly end: WaitingEnd; readonly isShared: boolean },
  ): Promise<DomainError> {
    const goesOn = isShared || end === 'stopping';
    if (!goesOn) await this.cancel(exchange, run);
    const fate = goesOn ? `The run ${run.id} goes on, in its thread.` : 'The run was cancelled.';
    if (end === 'stopping') return new DomainError('service_unavailable', `The service restarts. ${fate}`);
    if (end === 'late') {
      return new DomainError('gateway_timeout', `The agent did not answer within ${offer.timeoutS} s. ${fate}`);
    }
    const code = end === 'revoked' ? 'credential_invalid' : 'request_abandoned';
    return new DomainError(code, `The caller or its credential has gone. ${fate}`);
  }

  private openInvocation({ exchange, offer, args }: AskCall): Invocation {
    return this.invocations.openInvocation(agentCallOf(exchange, offer.name, args), {
      isKnownTool: true,
      isPublic: false,
      startedAt: performance.now(),
    });
  }
}

const KIND = 'ask';
