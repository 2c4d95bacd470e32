import { LRUCache } from 'lru-cache';
import type { StdioTarget } from '../contract/upstream-target.js';

const MAX_PROGRAMS = 10_000;
/** A restarted program can be a newer one. A slow start, or a busy machine, can have hidden the modern era. */
const KNOWN_MS = 60 * 60_000;

/**
 * The targets whose programs have not answered in the modern era, so that for a while the next process is not probed
 * for it.
 */
export class LegacyPrograms {
  private readonly known = new LRUCache<string, true>({ max: MAX_PROGRAMS, ttl: KNOWN_MS, ttlResolution: 1_000 });

  has(target: StdioTarget): boolean {
    return this.known.has(keyOf(target));
  }

  add(target: StdioTarget): void {
    this.known.set(keyOf(target), true);
  }
}

function keyOf({ connectionId, revision }: StdioTarget): string {
  return `${connectionId}@${revision}`;
}
