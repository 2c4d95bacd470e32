import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnswerBudget, type HeldAnswer } from '../../core/answers/answer-budget.js';
import { holdUntilSent } from '../../core/answers/hold-until-sent.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import type { AcceptedRun } from '../runs/run-request.service.js';
import type { RunStream } from '../streaming/run-stream.js';
import { RunStreamService } from '../streaming/run-stream.service.js';
import { StreamResponder } from '../streaming/stream-responder.js';
import { RunWaiting } from '../turns/run-waiting.js';
import { ResponseEvents } from './response-events.js';
import type { ResponseObject } from './response-object.js';
import { type FoundResponse, ResponseReader } from './response-reader.js';
import { responseId } from './response-ids.js';

/** As long as OpenAI's clients wait for an answer. */
const MAX_WAIT_MS = 600_000;
/** A stream waits for as long as its run does. */
const STREAM_WAIT_MS = 2 ** 31 - 1;
/** For the worker of a run that is cancelled. */
const CANCEL_WAIT_MS = 5_000;

/** A request about a response. */
export interface ResponseExchange {
  readonly caller: Principal;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** How a response is answered. */
export type ResponseMode = 'complete' | 'background' | 'stream';

/** Answers with responses: complete ones, those so far, or their events. */
@Injectable()
export class ResponseResponder {
  constructor(
    private readonly limits: RequestLimits,
    private readonly streams: RunStreamService,
    private readonly streaming: StreamResponder,
    private readonly waiting: RunWaiting,
    private readonly reader: ResponseReader,
    private readonly budget: AnswerBudget,
  ) {}

  /**
   * Starts a run, or lets it continue, and answers as the mode says; undefined when the stream is the answer.
   * @param begunBy the approval that the response begins with; null for the first answer of the run
   */
  async start(
    exchange: ResponseExchange,
    { threadId, begunBy, mode }: { threadId: string; begunBy: string | null; mode: ResponseMode },
    start: () => Promise<AcceptedRun>,
  ): Promise<ResponseObject | undefined> {
    const { caller, reply } = exchange;
    if (begunBy === null) await this.limits.countRun(caller, reply);
    if (mode === 'stream') return this.startStream(exchange, { threadId, begunBy }, start);
    const { taskId } = await start();
    const found = await this.reader.find(caller, responseId(taskId));
    if (mode === 'complete') await this.untilOver(exchange, found, MAX_WAIT_MS);
    return this.read(exchange, { ...found, begunBy });
  }

  /** The response so far. @throws DomainError `run_not_found`, `answer_memory_exhausted` */
  read({ caller, reply }: ResponseExchange, found: FoundResponse): Promise<ResponseObject> {
    return holdUntilSent(this.budget.openAnswer(caller), reply, (held) => this.reader.read(found, held));
  }

  /** The response once its run has ended, or so far if that takes long. */
  async readCancelled(exchange: ResponseExchange, found: FoundResponse): Promise<ResponseObject> {
    await this.untilOver(exchange, found, CANCEL_WAIT_MS);
    return this.read(exchange, found);
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

  private async startStream(
    exchange: ResponseExchange,
    { threadId, begunBy }: { threadId: string; begunBy: string | null },
    start: () => Promise<AcceptedRun>,
  ): Promise<undefined> {
    const { caller, reply } = exchange;
    let stream: RunStream | undefined;
    const newForm = (runId: string) => this.eventsOf(exchange, { runId, begunBy }, () => stream);
    stream = await this.streams.openWith(
      { organizationId: caller.organization.id, threadId },
      { aiVersion: undefined, newForm },
      start,
    );
    void reply.status(200);
    this.streaming.respond(stream, exchange);
  }

  private eventsOf(
    { caller, reply }: ResponseExchange,
    { runId, begunBy, startingAfter }: { runId: string; begunBy: string | null; startingAfter?: number | undefined },
    streamOf: () => RunStream | undefined,
  ): ResponseEvents {
    const find = async () => ({ ...(await this.reader.find(caller, responseId(runId))), begunBy });
    const hold = <T>(work: (answer: HeldAnswer, found: FoundResponse) => Promise<T>): Promise<T> =>
      holdUntilSent(this.budget.openAnswer(caller), reply, async (answer) => work(answer, await find()));
    return new ResponseEvents({
      runId,
      startingAfter,
      begin: () => hold((answer, found) => this.reader.readBegun(found, answer)),
      read: (roundOf) => hold((answer, found) => this.reader.read(found, answer, roundOf)),
      onAsk: () => void find().then(({ run }) => this.leaveOnceWaiting({ caller, reply }, run, streamOf)),
    });
  }

  /** Ends the reader's stream when the run waits for approvals: the response is complete then. */
  private async leaveOnceWaiting(
    { caller, reply }: Pick<ResponseExchange, 'caller' | 'reply'>,
    run: FoundResponse['run'],
    streamOf: () => RunStream | undefined,
  ): Promise<void> {
    const end = await this.waiting.untilOver(run, { caller, reply, withinMs: STREAM_WAIT_MS });
    if (end === 'over') streamOf()?.giveUpWaiting(run.id);
  }
}
