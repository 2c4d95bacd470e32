import type { MetricData } from '@opentelemetry/sdk-metrics';
import type { ServiceSlot } from '../../core/config/app-config.js';

/** What the supervisor sends to a service process. */
export type ToService =
  | { readonly type: 'start'; readonly slot: ServiceSlot; readonly preparesFirstStart: boolean }
  | { readonly type: 'announce' }
  | { readonly type: 'read_metrics'; readonly id: number };

/** What a service process sends to the supervisor. */
export type ToSupervisor =
  /** It can receive `start`. */
  | { readonly type: 'loaded' }
  | { readonly type: 'listening'; readonly url: string }
  | { readonly type: 'announced' }
  /** It ends because of this. */
  | { readonly type: 'failed'; readonly sentence: string }
  /** A part of the answer to `read_metrics`. */
  | {
      readonly type: 'metrics';
      readonly id: number;
      readonly metrics: readonly MetricData[];
      readonly isLast: boolean;
    };

/** A service process did not start. The message is for the operator. */
export class ProcessStartError extends Error {
  override readonly name = 'ProcessStartError';
}
