import { type ChangeListener, changeIn, type ListedKind } from '../contract/list-change.js';
import type { UpstreamError } from '../contract/upstream-error.js';
import { methodNotFound, type RequestReceiver, type UpstreamRequest } from '../contract/upstream-request.js';
import type { LogReader } from './call-context.js';

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

/**
 * The requests of an upstream that do not name the call during which they are sent: those of programs, and those on the
 * stream of unsolicited messages. The oldest call whose client can be asked at once gets them. All calls of the session
 * are of one caller.
 */
export class SessionRequests {
  private readonly calls = new Set<RequestReceiver>();

  /** @param isOfOneCaller false for a session that callers share, whose calls cannot be told apart: none is asked */
  constructor(private readonly isOfOneCaller: boolean) {}

  /** Passes requests on to this call until the returned function is called. */
  passTo(call: RequestReceiver): () => void {
    if (this.isOfOneCaller) this.calls.add(call);
    return () => void this.calls.delete(call);
  }

  /**
   * Rejects with the error that the upstream gets.
   * @param cancelled aborted when the upstream does not wait for the answer any more
   */
  async answer(request: UpstreamRequest, cancelled?: AbortSignal): Promise<object> {
    const ended = new Set<RequestReceiver>();
    for (;;) {
      const calls = [...this.calls].filter((call) => !ended.has(call));
      const call = calls.find(({ isWaitedFor }) => isWaitedFor) ?? calls[0];
      if (call === undefined) throw methodNotFound();
      const answer = await call.receiveRequest(request, cancelled);
      if (answer !== undefined) return answer;
      ended.add(call);
    }
  }
}

/**
 * The log messages that an upstream sends outside of its answers, as every program does. They name no call: the oldest
 * one whose client asked for log messages gets them. All calls of the session are of one caller.
 */
export class SessionLogs {
  private readonly readers = new Set<LogReader>();

  /**
   * @param isOfOneCaller false for a session that callers share, whose calls cannot be told apart: none gets messages
   */
  constructor(private readonly isOfOneCaller: boolean) {}

  /** Passes messages to this call until the returned function is called. */
  passTo(reader: LogReader): () => void {
    if (this.isOfOneCaller) this.readers.add(reader);
    return () => void this.readers.delete(reader);
  }

  logged(params: object): void {
    const [oldest] = this.readers;
    oldest?.(params);
  }
}
