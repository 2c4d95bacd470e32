import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnswerBudget, holdUntilSent } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { setRunLocation } from '../../core/run-location.js';
import { requireThreadPermission } from '../../core/thread-access.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import type { AcceptedRun } from '../runs/run-request.service.js';
import { RunStreamService } from '../streaming/run-stream.service.js';
import { StreamResponder } from '../streaming/stream-responder.js';
import { answerFormOf } from './answer-form.js';
import type { RunResult } from './run-result.dto.js';
import { RunResultService } from './run-result.service.js';
import { RunWaiting } from './run-waiting.js';

/** A request that starts a run, and its response. */
interface TurnExchange {
  readonly caller: Principal;
  readonly threadId: string;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The body of the response; undefined when the stream was the response. */
export type TurnAnswer = { taskId: string; steered?: boolean } | RunResult | undefined;

/** Answers requests that start a run, in the form that they ask for. */
@Injectable()
export class TurnResponder {
  constructor(
    private readonly limits: RequestLimits,
    private readonly streams: RunStreamService,
    private readonly streaming: StreamResponder,
    private readonly waiting: RunWaiting,
    private readonly results: RunResultService,
    private readonly budget: AnswerBudget,
  ) {}

  /**
   * Starts the run and answers: 202 with the `taskId`, 200 with the result if the run ends while the request waits, or
   * its stream. Sets the status. A caller that leaves cancels nothing.
   * @param start checks that the caller can run the agent of the thread
   */
  async respond(exchange: TurnExchange, start: () => Promise<AcceptedRun>): Promise<TurnAnswer> {
    const { caller, request, reply } = exchange;
    const form = answerFormOf(request.headers);
    // The answer is for those who can read it, not for all who can post.
    if (form.type !== 'accepted') requireThreadPermission(caller, 'read');
    await this.limits.countRun(caller, reply);
    if (form.type === 'stream') return this.stream(exchange, form.aiVersion, start);
    const accepted = await start();
    const { taskId, steer } = accepted;
    setRunLocation(reply, caller, taskId);
    if (form.type === 'result') return this.result(exchange, accepted, form.waitSeconds);
    return { taskId, ...(steer && { steered: steer.steered }) };
  }

  private async stream(
    exchange: TurnExchange,
    aiVersion: number | undefined,
    start: () => Promise<AcceptedRun>,
  ): Promise<undefined> {
    const { caller, threadId, reply } = exchange;
    const topic = { organizationId: caller.organization.id, threadId };
    const stream = await this.streams.openWith(topic, { aiVersion }, async () => {
      const accepted = await start();
      void reply.header('x-task-id', accepted.taskId);
      return accepted;
    });
    void reply.status(200);
    this.streaming.respond(stream, exchange);
  }

  private async result(
    exchange: TurnExchange,
    accepted: AcceptedRun,
    waitSeconds: number,
  ): Promise<{ taskId: string; steered?: boolean } | RunResult> {
    const { caller, reply } = exchange;
    const organizationId = caller.organization.id;
    void reply.header('preference-applied', `wait=${waitSeconds}`);
    const { isOver, ...taken } = await this.untilTaken(exchange, accepted, waitSeconds * 1000);
    if (!isOver) return taken;
    try {
      const answer = this.budget.openAnswer(caller);
      const result = await holdUntilSent(answer, reply, (held) =>
        this.results.read(organizationId, taken.taskId, held),
      );
      void reply.status(200);
      return result;
    } catch {
      // The run was accepted, whatever prevents reading its answer now.
      return taken;
    }
  }

  /** Waits for the end of the run that takes the message, at most this long. */
  private async untilTaken(
    { caller, threadId, reply }: TurnExchange,
    { taskId, steer }: AcceptedRun,
    withinMs: number,
  ): Promise<{ taskId: string; steered?: boolean; isOver: boolean }> {
    const organizationId = caller.organization.id;
    const endsAt = performance.now() + withinMs;
    const untilOver = (id: string): Promise<string> =>
      this.waiting.untilOver(
        { id, organizationId, threadId },
        { caller, reply, withinMs: Math.max(0, endsAt - performance.now()) },
      );
    const end = await untilOver(taskId);
    if (steer === undefined) return { taskId, isOver: end === 'over' };
    const { steered, heirId } = steer;
    if (!steered || end !== 'over' || !(await this.results.isStored(organizationId, heirId))) {
      return { taskId, steered, isOver: end === 'over' };
    }
    return { taskId: heirId, steered: false, isOver: (await untilOver(heirId)) === 'over' };
  }
}
