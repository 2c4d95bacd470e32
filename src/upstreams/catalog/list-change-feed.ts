import { Injectable } from '@nestjs/common';
import type { ListedKind } from '../contract/list-change.js';

type Listener = (connectionId: string, kind: ListedKind) => void;

/** Repeated changes of the same list are reported at once and then at most once in this time, in milliseconds. */
const THROTTLE_MS = 1_000;

/** Publishes the list changes that upstreams report to this process (`notifications/…/list_changed`). */
@Injectable()
export class ListChangeFeed {
  private readonly listeners: Listener[] = [];
  /**
   * The changes that were reported just now, by kind and connection; true once the upstream has repeated the report.
   */
  private readonly recent = new Map<string, boolean>();

  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }

  tell(connectionId: string, kind: ListedKind): void {
    const key = `${kind} ${connectionId}`;
    if (this.recent.has(key)) {
      this.recent.set(key, true);
      return;
    }
    this.recent.set(key, false);
    setTimeout(() => {
      const wasRepeated = this.recent.get(key) === true;
      this.recent.delete(key);
      if (wasRepeated) this.tell(connectionId, kind);
    }, THROTTLE_MS).unref();
    for (const listener of this.listeners) listener(connectionId, kind);
  }
}
