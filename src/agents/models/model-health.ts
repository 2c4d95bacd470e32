import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { TierModel } from './models.service.js';

/** The number of consecutive failures that opens the breaker. */
const FAILURES_TO_OPEN = 3;
/** Milliseconds until one run tries the model again; doubled with each that does. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 120_000;
/** Beyond so many failing models, the one that was called longest ago is forgotten. */
const MAX_CIRCUITS = 10_000;

/** The failures of one model in this process. */
interface Circuit {
  failures: number;
  /** While open: when the next run tries the model, in milliseconds of `performance.now()`. */
  retryAt: number;
  pauseMs: number;
}

type Model = Pick<TierModel, 'providerId' | 'model'>;

/**
 * A circuit breaker for each model that has fallbacks. After repeated failures, runs pass the model over; after a
 * pause, one of them tries it.
 */
@Injectable()
export class ModelHealth {
  private readonly circuits = new LRUCache<string, Circuit>({ max: MAX_CIRCUITS });

  /** Whether a run should call the model. If the pause is over, it is the one that tries. */
  admits(model: Model): boolean {
    const circuit = this.circuits.get(keyOf(model));
    if (circuit === undefined || circuit.failures < FAILURES_TO_OPEN) return true;
    if (performance.now() < circuit.retryAt) return false;
    circuit.pauseMs = Math.min(circuit.pauseMs * 2, LONGEST_PAUSE_MS);
    circuit.retryAt = performance.now() + circuit.pauseMs;
    return true;
  }

  noteSuccess(model: Model): void {
    this.circuits.delete(keyOf(model));
  }

  noteFailure(model: Model): void {
    const key = keyOf(model);
    const circuit = this.circuits.get(key) ?? { failures: 0, retryAt: 0, pauseMs: FIRST_PAUSE_MS };
    circuit.failures++;
    // Calls that were under way when the breaker opened do not make the pause longer.
    if (circuit.failures === FAILURES_TO_OPEN) circuit.retryAt = performance.now() + circuit.pauseMs;
    this.circuits.set(key, circuit);
  }
}

function keyOf({ providerId, model }: Model): string {
  return `${providerId} ${model}`;
}
