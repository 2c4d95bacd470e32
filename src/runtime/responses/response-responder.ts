import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  AnswerBudget,
  holdUntilSent,
  HELD_PER_JSON_BYTE,
  type HeldAnswer,
  withAnswer,
} from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import { OvertakenError } from '../runs/records/run-posting.js';
import { RunCancellationService } from '../runs/run-cancellation.service.js';
import { RunWaiting } from '../turns/run-waiting.js';
import { responseId } from './response-ids.js';
import type { ResponseObject } from './response-object.js';
import type { CheckedResponse } from './response-posting.js';
import { type FoundResponse, ResponseReader } from './response-reader.js';
import { StreamExpiredError } from '../events/run-event-store.js';
import { RunEvents } from '../events/run-events.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import type { AcceptedRun } from '../runs/run-request.service.js';
import { NOTHING_READ } from '../streaming/run-frames.js';
import type { RunStream } from '../streaming/run-stream.js';
import { RunStreamService } from '../streaming/run-stream.service.js';
import { StreamResponder } from '../streaming/stream-responder.js';
import { LAST_OPENING_EVENT, ResponseEvents } from './response-events.js';
import { fault } from './response-input.js';
import type { Principal } from '../../core/principal.js';
import { ThreadService } from '../threads/thread.service.js';

/** Deletes the threads of responses with `store: false`. */
@Injectable()
export class UnstoredResponses {
  constructor(private readonly threads: ThreadService) {}

  /**
   * Deletes the thread of a response that was read to its end by the request that asked for it, unless it is stored.
   * What cannot be deleted now, because the run waits for approvals or the database is away, is deleted by the
   * retention task some time after the run. A caller can choose message ids, and with them what a response says of
   * itself, so a thread that is not transient stays.
   */
  async forget({ store, status }: ResponseObject, { organizationId, threadId }: RunEntity): Promise<void> {
    if (store || status === 'queued' || status === 'in_progress') return;
    await this.threads.deleteTransient(organizationId, threadId).catch(() => undefined);
  }
}

/** A request about a response, and where it is answered. */
interface ResponseExchange {
  readonly caller: Principal;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** A stream waits for as long as its run does. */
const STREAM_WAIT_MS = 2 ** 31 - 1;
/** How soon a reader is sent away again that had frames to read when its run began to wait. */
const LOOK_AGAIN_MS = 1_000;

/** The response that is streamed, before its run is read. */
interface StreamedResponse {
  readonly runId: string;
  readonly begunBy: string | null;
  /** The last event that the reader has. */
  readonly startingAfter?: number | undefined;
  /** The reader has asked for the response, and does not resume its events: an unstored one is for nobody else. */
  readonly isAsker?: boolean;
}

/** Answers with the events of responses. */
@Injectable()
export class ResponseStreams {
  constructor(
    private readonly streams: RunStreamService,
    private readonly streaming: StreamResponder,
    private readonly waiting: RunWaiting,
    private readonly events: RunEvents,
    private readonly reader: ResponseReader,
    private readonly budget: AnswerBudget,
    private readonly unstored: UnstoredResponses,
  ) {}

  /**
   * Starts a run, or lets it continue, and answers with the events of its response.
   * @param begunBy the approval that the response begins with; null for the first answer of the run
   */
  async start(
    exchange: ResponseExchange,
    { threadId, begunBy }: { threadId: string; begunBy: string | null },
    start: () => Promise<AcceptedRun>,
  ): Promise<void> {
    const topic = { organizationId: exchange.caller.organization.id, threadId };
    await this.respond(exchange, { begunBy, isAsker: true }, (newForm) =>
      this.streams.openWith(topic, { aiVersion: undefined, newForm }, start),
    );
  }

  /**
   * Answers with the events of a response, or with those after one that the reader has.
   * @throws DomainError `run_not_found` if there is no such response, or no more; `stream_expired`;
   *   `invalid_stream_position` if the response has no such event yet
   */
  async resume(
    exchange: ResponseExchange,
    { run, begunBy }: FoundResponse,
    startingAfter: number | undefined,
  ): Promise<void> {
    const { id: taskId, threadId } = run;
    await withAnswer(this.budget, exchange.caller, (answer) => this.reader.read({ run, begunBy }, answer));
    if (startingAfter !== undefined) await this.requireEvent(exchange, { run, begunBy }, startingAfter);
    await this.respond(exchange, { begunBy, startingAfter }, async (newForm) => {
      const query = { taskId, after: NOTHING_READ, follow: false, idle204: false, aiVersion: undefined, newForm };
      // With a run and without `idle204`, there is a stream.
      return (await this.streams.openStream(exchange.caller, threadId, query)) as RunStream;
    });
  }

  private async respond(
    exchange: ResponseExchange,
    streamed: Omit<StreamedResponse, 'runId'>,
    open: (newForm: (runId: string) => ResponseEvents) => Promise<RunStream>,
  ): Promise<void> {
    const onAsk = (run: RunEntity): void => void this.leaveOnceWaiting(exchange, run, () => stream);
    const stream = await open((runId) => this.eventsOf(exchange, { ...streamed, runId }, onAsk));
    void exchange.reply.status(200);
    this.streaming.respond(stream, exchange, {});
  }

  private eventsOf(
    { caller }: ResponseExchange,
    { runId, begunBy, startingAfter, isAsker }: StreamedResponse,
    onAsk?: (run: RunEntity) => void,
  ): ResponseEvents {
    const find = async (): Promise<FoundResponse> => ({
      ...(await this.reader.find(caller, responseId(runId))),
      begunBy,
    });
    const hold = <T>(work: (found: FoundResponse, answer: HeldAnswer) => Promise<T>): Promise<T> =>
      withAnswer(this.budget, caller, async (answer) => work(await find(), answer));
    return new ResponseEvents({
      runId,
      startingAfter,
      begin: () => hold((found, answer) => this.reader.readBegun(found, answer)),
      read: (roundOf) =>
        hold(async (found, answer) => {
          const response = await this.reader.read(found, answer, roundOf);
          if (isAsker === true) await this.unstored.forget(response, found.run);
          return response;
        }),
      // Without it, the reader leaves when the run is over.
      onAsk: () =>
        void (
          onAsk &&
          find().then(
            ({ run }) => onAsk(run),
            () => undefined,
          )
        ),
    });
  }

  /**
   * Counts the events of the response so far: they are the same for each reader of the same frames. A reader that has
   * no event of a frame yet can read any frames. What a later attempt streams again, because the live buffer has lost
   * it, has other events.
   */
  private async requireEvent(exchange: ResponseExchange, found: FoundResponse, number: number): Promise<void> {
    if (number <= LAST_OPENING_EVENT) return;
    const { run, begunBy } = found;
    const { frames, epochs } = await this.events.readStream(run, run.id);
    if (!isWhole(run, epochs)) throw new StreamExpiredError(run.id);
    const lastNumber = await withAnswer(this.budget, exchange.caller, async (answer) => {
      const events = this.eventsOf(exchange, { runId: run.id, begunBy, startingAfter: Infinity });
      await events.begin();
      for (const frame of frames) {
        answer.reserve(frame.length * HELD_PER_JSON_BYTE);
        events.write(frame);
      }
      const { status } = await this.reader.read(found, answer);
      if (status !== 'queued' && status !== 'in_progress') await events.end();
      if (events.failure !== undefined) throw events.failure;
      return events.lastNumber;
    });
    if (number <= lastNumber) return;
    throw fault('invalid_stream_position', 'starting_after', 'The response has no event with this number.');
  }

  /** Ends the reader's stream when the run waits for approvals: the response is complete then. */
  private async leaveOnceWaiting(
    { caller, reply }: ResponseExchange,
    run: RunEntity,
    streamOf: () => RunStream,
  ): Promise<void> {
    const request = { caller, reply };
    do {
      const end = await this.waiting.untilOver(run, { ...request, withinMs: STREAM_WAIT_MS });
      if (end !== 'over') return;
      streamOf().giveUpWaiting(run.id);
      // A reader that lacked frames at this moment continues to read.
      if ((await this.waiting.pause({ ...request, withinMs: LOOK_AGAIN_MS })) !== 'late') return;
    } while (streamOf().current === run.id);
  }
}

/**
 * True if each attempt has frames in the stream; the newest one may not have begun to write, and what ended a run
 * before any attempt neither.
 */
function isWhole({ attempt, epoch, status, startedAt }: RunEntity, writers: ReadonlySet<string>): boolean {
  if (startedAt === null) return true;
  const hasBegun = status !== 'running' || (epoch !== null && writers.has(epoch));
  return writers.size >= (hasBegun ? attempt : attempt - 1);
}

/** As long as OpenAI's clients wait for an answer. */
const COMPLETE_WAIT_MS = 600_000;
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
    if (mode === 'complete') await this.untilOver(exchange, found, COMPLETE_WAIT_MS);
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
