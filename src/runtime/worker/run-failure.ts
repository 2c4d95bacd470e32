import { DomainError } from '../../core/domain-error.js';
import { describeProviderFailure } from '../../agents/models/provider-failure.js';
import type { RunError } from '../runs/records/run.entity.js';
import { AnswerOverflowError } from './answer-limits.js';
import { OutputInvalidError } from './answer-shape.js';
import { AnswerInterruptedError } from './model-step.js';
import { RUN_FAILURE_CODES, type RunFailureCode } from './run-failure-codes.js';

/** Why a run failed, for its record, its stream and the transcript. It never contains text from an
 * upstream, and of a model provider only what `describeProviderFailure` lets through. */
export function describeRunFailure(error: unknown): RunError {
  if (error instanceof AnswerInterruptedError) {
    return { code: 'provider_unavailable', message: 'The connection to the model provider was lost.' };
  }
  if (error instanceof AnswerOverflowError) return ANSWER_TOO_LARGE;
  if (error instanceof OutputInvalidError) return { code: 'output_invalid', message: error.message };
  if (error instanceof DomainError) return { code: error.code, message: error.detail ?? error.title };
  const { code, message } = describeProviderFailure(error);
  return { code, message };
}

const ANSWER_TOO_LARGE = failureOf('answer_too_large');
export const ANSWER_UNUSABLE = failureOf('answer_unusable');
export const CREDENTIAL_REVOKED = failureOf('credential_revoked');
export const POSTER_GONE = failureOf('poster_gone');
export const RUN_TIMEOUT = failureOf('run_timeout');
export const WORKER_LOST = failureOf('worker_lost');

/** A failure whose message is the meaning of its code. */
function failureOf(code: RunFailureCode): RunError {
  return { code, message: RUN_FAILURE_CODES[code] };
}
