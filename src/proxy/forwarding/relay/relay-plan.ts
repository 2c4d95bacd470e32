import type { AnsweredWithRoom } from '../../../core/answers/answer-room.js';
import { DomainError } from '../../../core/domain-error.js';
import type { AskedRequest } from '../../../upstreams/channels/upstream-channels.js';
import type { LogLevel } from '../../../upstreams/contract/log-level.js';
import { toUpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { InvocationOutcome } from '../../../upstreams/invocation.js';
import type { CallerFilter } from '../../protocol/proxy-caller.js';
import type { TaskIdMapping } from '../tasks/task-messages.js';

/** How an upstream's answer is relayed to the caller. */
export interface RelayPlan extends AnsweredWithRoom {
  /** The id of the caller's request as JSON text. */
  readonly callerId: string;
  /** The id that replaced it in a session shared with other callers, as JSON text. */
  readonly sentId?: string | undefined;
  /** True if the caller accepts an event stream. If not, it gets one JSON body. */
  readonly acceptsStream: boolean;
  /** The filter for a caller who is not permitted to call every tool; undefined for others. */
  readonly filter?: CallerFilter | undefined;
  /** True if the caller is a client of the modern era. */
  readonly isModern: boolean;
  /** True if the answer is a list of tools or tasks, which has to be parsed as a whole if there is a filter. */
  readonly isList: boolean;
  /** Maps the id of a task in the answer to the one that the caller sees; absent if they are the same. */
  readonly taskIdFor?: TaskIdMapping | undefined;
  /** True if the answer describes a task. With `taskIdFor`, it is read whole, because the id can be anywhere in it. */
  readonly isOfTask: boolean;
  /** Rewrites an event under the caller's ids; returns undefined for an event that is not for this caller. */
  readonly rewriteEvent?: ((event: Buffer) => Buffer | undefined) | undefined;
  /** Answers a request of the upstream, in a session of the service. Such a request is not for the caller. */
  readonly answerRequest?: ((request: AskedRequest) => void) | undefined;
  /** The ids of requests in the answer that are for the caller. */
  readonly ownRequests?: ReadonlySet<unknown> | undefined;
  /** The least severe log messages that the caller gets; absent: all of them. */
  readonly logLevel?: LogLevel | undefined;
  /** Called with the log messages that one JSON body leaves out. */
  readonly onUnsentLog?: ((log: Readonly<Record<string, unknown>>) => void) | undefined;
  /** Called when the upstream reports that its list of tools has changed. */
  readonly onListChanged: () => void;
  /**
   * Maps an error while reading the answer to its cause: a timeout, a caller that disconnected, or the error itself.
   */
  readonly explain: (error: unknown) => unknown;
  /** Aborted when the caller cancels the request with a notification. It gets no answer then. */
  readonly cancelled?: AbortSignal | undefined;
  /** Settles the request before the response ends, with the answer if it was parsed. Only the first call counts. */
  readonly settle: (outcome: InvocationOutcome, answer?: Record<string, unknown>) => Promise<void>;
}

/** True if the answer has to be parsed as a whole, whatever its size. */
export function needsWhole({ filter, isList, taskIdFor, isOfTask }: RelayPlan): boolean {
  return (filter !== undefined && isList) || (taskIdFor !== undefined && isOfTask);
}

/** An answer that is ready to send. */
export interface RelayedAnswer {
  readonly status: number;
  readonly contentType: 'application/json' | 'text/event-stream' | undefined;
  readonly body: Buffer | string | AsyncGenerator<Buffer>;
  /** True if memory has been reserved for a complete body. */
  readonly isHeld?: boolean;
}

const UNNAMED_ADDRESS = 'the other end';

/** The error for an answer that could not be read to its end. */
export function brokenAnswer(error: unknown, plan: Pick<RelayPlan, 'explain'>): unknown {
  const cause = plan.explain(error);
  if (cause instanceof DomainError) return cause;
  // Socket errors have codes. An error without one is a fault of this service and must not be attributed to the
  // upstream.
  const isOfSocket = typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string';
  return isOfSocket ? toUpstreamError(cause, UNNAMED_ADDRESS) : cause;
}
