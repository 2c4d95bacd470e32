import { Injectable } from '@nestjs/common';
import type { ListedKind } from '../contract/list-change.js';

type Listener = (connectionId: string, kind: ListedKind) => void;

/** However often an upstream says the same, it is passed on at once and then once more after this time, in milliseconds. */
const GATHER_MS = 1_000;

/** Tells this process what its upstreams say of their lists (`notifications/…/list_changed`). */
@Injectable()
export class ListChangeFeed {
  private readonly listeners: Listener[] = [];
  /** What was told just now, by kind and connection: has the upstream said it again since? */
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
      const isSaidAgain = this.recent.get(key) === true;
      this.recent.delete(key);
      if (isSaidAgain) this.tell(connectionId, kind);
    }, GATHER_MS).unref();
    for (const listener of this.listeners) listener(connectionId, kind);
  }
}
