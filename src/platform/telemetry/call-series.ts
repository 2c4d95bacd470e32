import { DurationHistogram } from './duration-histogram.js';
import { NOT_LISTED } from './names.js';

/** The labels of a series of calls. The number of values is bounded. */
interface CallLabels {
  readonly connectionId: string;
  /** Undefined for a request that is not a tool call. */
  readonly tool: string | undefined;
  readonly method: string;
  readonly streamable: boolean;
}

/** Far more than there are error codes: protects against callers that invent them. */
const MAX_ERROR_TYPES = 100;
const ERROR_TYPE_SHAPE = /^[A-Za-z0-9_-]{1,64}$/;

/** The calls with the same labels: how many succeeded, how many failed with which error, and how long they took. */
export class CallSeries {
  readonly succeeded = new DurationHistogram();
  readonly failed = new Map<string, DurationHistogram>();

  constructor(readonly labels: CallLabels) {}

  recordSuccess(seconds: number): void {
    this.succeeded.record(seconds);
  }

  recordError(seconds: number, errorType: string): void {
    let histogram = this.failed.get(errorType);
    if (histogram === undefined) {
      const isNew = this.failed.size < MAX_ERROR_TYPES && ERROR_TYPE_SHAPE.test(errorType);
      const type = isNew ? errorType : NOT_LISTED;
      histogram = this.failed.get(type) ?? new DurationHistogram();
      this.failed.set(type, histogram);
    }
    histogram.record(seconds);
  }
}
