import { LRUCache } from 'lru-cache';
import type { StdioTarget } from '../contract/upstream-target.js';

const MAX_PROGRAMS = 10_000;

/**
 * The targets whose programs support only the legacy era, so that the next process is not probed for the modern one.
 */
export class LegacyPrograms {
  private readonly known = new LRUCache<string, true>({ max: MAX_PROGRAMS });

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
