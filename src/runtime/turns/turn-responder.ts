import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { AnswerBudget, holdUntilSent } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { setRunLocation } from '../../core/run-location.js';
import { requireThreadPermission } from '../../core/thread-access.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import type { AcceptedRun } from '../runs/run-request.service.js';
import { RunStreamService } from '../streaming/run-stream.service.js';
import { StreamResponder } from '../streaming/stream-responder.js';
import type { RunResult } from './run-result.dto.js';
import { RunResultService } from './run-result.service.js';
import { RunWaiting } from './run-waiting.js';
import { faultAt } from '../../core/domain-error.js';
import { elementsOf, preferredEventStream } from '../streaming/event-stream-range.js';

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

/** How a run request is answered: at once, when the run is over or a time has passed, or with the stream of the run. */
type AnswerForm =
  | { readonly type: 'accepted' }
  | { readonly type: 'result'; readonly waitSeconds: number }
  | { readonly type: 'stream'; readonly aiVersion: number | undefined };

/** The longest time that a request waits for a run. */
export const MAX_WAIT_S = 60;

const WAIT = /^wait\s*=\s*(?:"(\d+)"|(\d+))$/i;

/**
 * Reads the form from `Accept` and `Prefer`. A stream has to be asked for by its media type, and to be preferred to
 * JSON; it wins over `Prefer`. A longer wait than `MAX_WAIT_S` becomes that one.
 * @throws DomainError `invalid_request` for a malformed `wait` or `ai`; unknown preferences are ignored (RFC 7240 §2)
 */
export function answerFormOf({ accept, prefer }: IncomingHttpHeaders): AnswerForm {
  const waitSeconds = waitOf(typeof prefer === 'string' ? prefer : undefined);
  const stream = preferredEventStream(accept);
  if (stream !== undefined) return { type: 'stream', ...stream };
  return waitSeconds === undefined ? { type: 'accepted' } : { type: 'result', waitSeconds };
}

/** Only the first `wait` counts (RFC 7240 §2); a preference can have parameters, which none of `wait` are known. */
function waitOf(prefer: string | undefined): number | undefined {
  const preferences = elementsOf(prefer).map((item) => item.split(';', 1)[0]?.trim() ?? '');
  const preference = preferences.find((item) => /^wait\s*(?:=|$)/i.test(item));
  if (preference === undefined) return undefined;
  const [, quoted, plain] = WAIT.exec(preference) ?? [];
  const seconds = Number(quoted ?? plain);
  if (seconds >= 1) return Math.min(seconds, MAX_WAIT_S);
  throw faultAt('Prefer', 'wait', `wait must be a whole number of seconds from 1 to ${MAX_WAIT_S}.`);
}
