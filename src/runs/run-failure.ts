import { DomainError } from '../common/domain-error.js';
import { describeProviderFailure } from '../models/provider-failure.js';
import type { RunError } from '../threads/run.entity.js';
import { AnswerInterruptedError } from './model-step.js';

/** Why a run failed, for its record, its stream and the transcript. Nothing that an upstream said is in it. */
export function describeRunFailure(error: unknown): RunError {
  if (error instanceof AnswerInterruptedError) {
    return { code: 'provider_unavailable', message: 'The connection to the model provider broke off.' };
  }
  if (error instanceof DomainError) return { code: error.code, message: error.detail ?? error.title };
  const { code, message } = describeProviderFailure(error);
  return { code, message };
}

export const RUN_TIMEOUT: RunError = { code: 'run_timeout', message: 'The run took longer than it may.' };
export const WORKER_LOST: RunError = {
  code: 'worker_lost',
  message: 'The workers that ran this were lost again and again; it is not tried any more.',
};
