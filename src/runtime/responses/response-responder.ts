import { Injectable } from '@nestjs/common';
import { AnswerBudget, holdUntilSent } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import { OvertakenError } from '../runs/records/run-posting.js';
import { RunCancellationService } from '../runs/run-cancellation.service.js';
import { RunWaiting } from '../turns/run-waiting.js';
import { type ResponseExchange, ResponseStreams, UnstoredResponses } from './response-streams.js';
import { responseId } from './response-ids.js';
import type { ResponseObject } from './response-object.js';
import type { CheckedResponse } from './response-posting.js';
import { type FoundResponse, ResponseReader } from './response-reader.js';
import { withAnswer } from './with-answer.js';

/** As long as OpenAI's clients wait for an answer. */
const MAX_WAIT_MS = 600_000;
/** For the worker of a run that is cancelled. */
const CANCEL_WAIT_MS = 5_000;

/** How a response is answered: when it is complete, at once, or with its events. */
export type ResponseMode = 'complete' | 'background' | 'stream';

/** Answers with responses: complete ones, those so far, or their events. */
@Injectable()
export class ResponseResponder {
  constructor(
    private readonly limits: RequestLimits,
    private readonly streams: ResponseStreams,
    private readonly waiting: RunWaiting,
    private readonly cancellation: RunCancellationService,
    private readonly reader: ResponseReader,
    private readonly budget: AnswerBudget,
    private readonly unstored: UnstoredResponses,
  ) {}

  /**
   * Starts a run, or lets it continue, and answers as the mode says; undefined when the events are the answer. A caller
   * that leaves cancels nothing.
   */
  async start(
    exchange: ResponseExchange,
    checked: CheckedResponse,
    mode: ResponseMode,
  ): Promise<ResponseObject | undefined> {
    if (checked.begunBy === null) await this.limits.countRun(exchange.caller, exchange.reply);
    try {
      return await this.answer(exchange, checked, mode);
    } catch (error) {
      if (checked.branch === undefined || !(error instanceof OvertakenError)) throw error;
      return this.answer(exchange, checked.branch(), mode);
    }
  }

  /** The response so far. @throws DomainError `run_not_found`, `answer_memory_exhausted` */
  read({ caller, reply }: ResponseExchange, found: FoundResponse): Promise<ResponseObject> {
    return holdUntilSent(this.budget.openAnswer(caller), reply, (held) => this.reader.read(found, held));
  }

  /** Cancels the run of a response. A response that is over does not change, although its run may go on. */
  async cancel(exchange: ResponseExchange, found: FoundResponse): Promise<ResponseObject> {
    const { caller } = exchange;
    if (await withAnswer(this.budget, caller, (answer) => this.reader.isLast(found, answer))) {
      await this.cancellation.cancelRun(found.run.id, caller);
      await this.untilOver(exchange, found, CANCEL_WAIT_MS);
    }
    return this.read(exchange, found);
  }

  private async answer(
    exchange: ResponseExchange,
    checked: CheckedResponse,
    mode: ResponseMode,
  ): Promise<ResponseObject | undefined> {
    if (mode === 'stream') {
      await this.streams.start(exchange, checked, () => checked.post());
      return undefined;
    }
    const { taskId } = await checked.post();
    const found = { ...(await this.reader.find(exchange.caller, responseId(taskId))), begunBy: checked.begunBy };
    if (mode === 'complete') await this.untilOver(exchange, found, MAX_WAIT_MS);
    const response = await this.read(exchange, found);
    await this.unstored.forget(response, found.run);
    return response;
  }

  /** @throws DomainError `credential_invalid` if the credential ends meanwhile */
  private async untilOver(
    { caller, reply }: ResponseExchange,
    { run }: FoundResponse,
    withinMs: number,
  ): Promise<void> {
    if ((await this.waiting.untilOver(run, { caller, reply, withinMs })) !== 'revoked') return;
    throw new DomainError('credential_invalid', 'The credential has ended, or its permissions have changed.');
  }
}
