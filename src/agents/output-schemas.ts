import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DomainError, faultAt, type FieldError } from '../core/domain-error.js';
import { newId } from '../core/ids.js';
import { ArgumentChecker } from '../upstreams/arguments/argument-checker.js';

/** Whose schema it is. */
interface SchemaOwner {
  readonly id: string;
  readonly organizationId: string;
}

/** The characters of schema text whose parsed and compiled forms are kept. */
const MAX_CACHED = 4 * 1024 * 1024;
/** The pause before a check that found no place in the queue is repeated. */
const BUSY_PAUSE_MS = 500;

const PATH = 'data.output_schema';

/**
 * Checks the output schemas of agents, and values against them, with the protection of `ArgumentChecker`: schemas come
 * from callers and can be hostile.
 */
@Injectable()
export class OutputSchemas {
  /** By text, because each run reads the schema again. */
  private readonly parsed = new LRUCache<string, object>({
    maxSize: MAX_CACHED,
    sizeCalculation: (_, text) => text.length,
  });

  constructor(private readonly checker: ArgumentChecker) {}

  /** The schema, the same object each time while it is cached. */
  parse(text: string): Record<string, unknown> {
    const known = this.parsed.get(text);
    const schema = known ?? (JSON.parse(text) as object);
    if (known === undefined) this.parsed.set(text, schema);
    return schema as Record<string, unknown>;
  }

  /** @throws DomainError `invalid_request` if it cannot be compiled or takes too long; `service_unavailable` */
  async requireUsable(schema: object, organizationId: string): Promise<void> {
    // Schemas that an editor tries must not keep those of runs from being used.
    const of = { owner: newId(), organization: organizationId };
    const verdict = await this.checker.validateValue(schema, {}, of);
    if (verdict.outcome === 'busy') {
      throw new DomainError('service_unavailable', 'Too many checks of schemas are queued.', undefined, {
        headers: { 'Retry-After': '1' },
      });
    }
    if (verdict.outcome !== 'unusable') return;
    throw faultAt(PATH, 'schema', `The schema cannot be used: ${verdict.reason}.`);
  }

  /**
   * Waits for a place in the queue of checks.
   * @returns the faults of the value; none if it is valid, and a sentence if the schema cannot be used on it
   * @throws the reason of the signal
   */
  async faultsOf(
    schema: object,
    value: unknown,
    { id, organizationId }: SchemaOwner,
    signal: AbortSignal,
  ): Promise<readonly FieldError[] | string> {
    for (;;) {
      const verdict = await this.checker.validateValue(schema, value, { owner: id, organization: organizationId });
      if (verdict.outcome === 'fit') return [];
      if (verdict.outcome === 'unfit') return verdict.faults;
      if (verdict.outcome === 'unusable') return `The schema cannot be used: ${verdict.reason}.`;
      await sleep(BUSY_PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}
