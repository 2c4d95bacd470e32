import type { ListedKind } from './list-change.js';
import type { UpstreamError } from './upstream-error.js';

/** What somebody listens for in a session with an upstream. */
export interface WantedChanges {
  readonly kinds: readonly ListedKind[];
  /** The resources to subscribe to. */
  readonly uris: readonly string[];
}

/** Hears of the changes that an upstream reports in one session. */
export interface ChangeListener {
  listChanged(kind: ListedKind): void;
  /** @param uri of a resource that this listener or another one has subscribed to, or of a part of it */
  resourceUpdated(uri: string): void;
  /** Changes may have been missed: everything counts as changed. */
  missed(): void;
  /** Nothing follows. @param fault undefined if a new session can be opened */
  ended(fault: UpstreamError | undefined): void;
}

/** Somebody who listens in one session. */
export interface Listening {
  /** The wanted resources that the upstream has subscribed to. */
  readonly uris: readonly string[];
  /** Ends it, and the subscriptions that nobody else has in the session. Never rejects. */
  stop(): Promise<void>;
}
