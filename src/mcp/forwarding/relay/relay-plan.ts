import type { InvocationOutcome } from '../../../upstreams/invocation.js';
import type { CallerFilter } from './tool-list-filter.js';

/** What an answer of the upstream must pass on its way to the caller. */
export interface RelayPlan {
  /** The id of the caller's request as JSON text. */
  readonly callerId: string;
  /** The id that was sent instead, JSON text, in a session that is shared with other callers. */
  readonly sentId?: string | undefined;
  /** Does the caller accept an event stream? If not, it gets one JSON body. */
  readonly acceptsStream: boolean;
  readonly requestId: string;
  /** What a caller who may not call every tool gets to see; undefined for one who may. */
  readonly filter?: CallerFilter | undefined;
  /** Is the answer a list of tools or tasks, which has to be read as a whole where there is a filter? */
  readonly isList: boolean;
  /** What an event is to the caller, under other ids; undefined for one that is none of the caller's. */
  readonly rewriteEvent?: ((event: Buffer) => Buffer | undefined) | undefined;
  /** The upstream says that its list of tools has changed. */
  readonly onListChanged: () => void;
  /** What an error while reading the answer means: a timeout, a caller that went away, or what it says. */
  readonly explain: (error: unknown) => unknown;
  /** Told how the request ended, before the last byte leaves, and by which message if it was read; only the first end counts. */
  readonly settle: (outcome: InvocationOutcome, answer?: Record<string, unknown>) => Promise<void>;
}

/** An answer, ready to be sent. */
export interface RelayedAnswer {
  readonly status: number;
  readonly contentType: 'application/json' | 'text/event-stream' | undefined;
  readonly body: Buffer | string | AsyncGenerator<Buffer>;
}
