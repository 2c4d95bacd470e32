import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { DomainError } from '../core/domain-error.js';
import { refusalOf } from '../platform/limits/limit-headers.js';
import { type RateLimit, RateLimits } from '../platform/limits/rate-limits.js';
import type { ToolCaller } from './contract/callers.js';
import type { LimitPatience, ToolCall } from './tool-call.js';

/** Counts tool calls against the limits of their connection, whatever entry point they come through. */
@Injectable()
export class ToolCallLimits {
  constructor(private readonly limits: RateLimits) {}

  /**
   * Counts a call of a connection that has limits, and tells `call.onLimited` which of them apply. A call with
   * `waitForLimit` waits that long for its turn.
   * @returns the error for a call over the limit
   */
  async count(call: ToolCall): Promise<DomainError | undefined> {
    const limits = limitsOf(call);
    if (call.waitForLimit !== undefined) return this.waitForTurn(call.waitForLimit, limits);
    const applied = await this.limits.count(limits);
    call.onLimited?.(applied);
    return refusalOf(applied);
  }

  /** Tries again when the windows end. Rejects with the reason of the signal. */
  private async waitForTurn(
    { patienceMs, signal }: LimitPatience,
    limits: readonly RateLimit[],
  ): Promise<DomainError | undefined> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const applied = await this.limits.count(limits);
      const refusal = refusalOf(applied);
      const left = deadline - performance.now();
      if (refusal === undefined || left <= 0) return refusal;
      const windowEnds = Math.max(...applied.map(({ verdict }) => (verdict.isAllowed ? 0 : verdict.endsInMs)));
      await sleep(Math.min(left, windowEnds + 1), undefined, signal && { signal }).catch(() =>
        signal?.throwIfAborted(),
      );
    }
  }
}

function limitsOf({ connection, caller }: ToolCall): RateLimit[] {
  const { id, rateLimit } = connection;
  const limits: RateLimit[] = [];
  if (rateLimit?.per_minute !== undefined) {
    limits.push({ name: 'connection', key: `connection:${id}`, perMinute: rateLimit.per_minute });
  }
  if (rateLimit?.per_caller_per_minute !== undefined) {
    const key = `connection:${id}:${callerOf(caller)}`;
    limits.push({ name: 'caller', key, perMinute: rateLimit.per_caller_per_minute });
  }
  return limits;
}

/** The person; for a key of the organization, the key; without a credential, the address. */
function callerOf({ userId, quotaKeyId, apiKeyId, address }: ToolCaller): string {
  return userId ?? quotaKeyId ?? apiKeyId ?? address ?? 'anonymous';
}
