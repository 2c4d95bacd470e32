import type { FieldError } from '../../common/domain-error.js';

/** What a check thread is asked. */
export interface CheckRequest {
  /** Names the schema. */
  key: number;
  /** The schema as JSON text, if the thread does not know it yet. */
  schema?: string;
  /** Schemas that the thread need not know any longer. */
  forget: readonly number[];
  /** The arguments as JSON text. */
  args: string;
}

/** What a check thread answers: `invalid` says why the schema cannot be used, `failed` why not on these arguments. */
export type CheckAnswer =
  | { readonly kind: 'checked'; readonly faults: readonly FieldError[] }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** The first thing a check thread says: everything that it needs is loaded. */
export type Ready = 'ready';
