import type { ChangeListener } from '../contract/change-listener.js';
import { changeIn, type ListedKind } from '../contract/list-change.js';
import type { UpstreamError } from '../contract/upstream-error.js';

/** Passes the changes that an upstream reports in one session to everyone who listens in it. */
export class SessionChanges {
  private readonly listeners = new Set<ChangeListener>();

  /** Returns a function that removes the listener. */
  add(listener: ChangeListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Passes a change on that the answer to a call reports. @param notification the upstream's message */
  report(notification: Readonly<Record<string, unknown>>): void {
    const change = changeIn(notification);
    if (change === undefined) return;
    if ('kind' in change) this.listChanged(change.kind);
    else this.resourceUpdated(change.uri);
  }

  listChanged(kind: ListedKind): void {
    for (const listener of this.listeners) listener.listChanged(kind);
  }

  resourceUpdated(uri: string): void {
    for (const listener of this.listeners) listener.resourceUpdated(uri);
  }

  /** Call when notifications may have been missed. */
  missed(): void {
    for (const listener of this.listeners) listener.missed();
  }

  /** Call when the session, or its stream of notifications, has ended. @param fault see `ChangeListener.ended` */
  end(fault?: UpstreamError): void {
    const ended = [...this.listeners];
    this.listeners.clear();
    for (const listener of ended) listener.ended(fault);
  }
}
