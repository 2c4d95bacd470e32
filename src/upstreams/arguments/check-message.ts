import type { FieldError } from '../../core/domain-error.js';

/** A request to a check thread. */
export interface CheckRequest {
  /** Identifies the schema. */
  key: number;
  /** The schema as JSON text, if the thread does not have it yet. */
  schema?: string;
  /** Schemas that the thread can drop. */
  forget: readonly number[];
  /** The arguments as JSON text. */
  args: string;
}

/**
 * The answer of a check thread. `invalid` states why the schema cannot be used, `failed` why it cannot be used on these
 * arguments.
 */
export type CheckAnswer =
  | { readonly kind: 'checked'; readonly faults: readonly FieldError[] }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** The first message of a check thread, once it has loaded everything that it needs. */
export type Ready = 'ready';
