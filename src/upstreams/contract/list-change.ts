import { isRecord } from '../../core/is-record.js';
import type { UpstreamError } from './upstream-error.js';

/** The lists whose changes an MCP server can announce (`listChanged`). */
export const LISTED_KINDS = ['tools', 'prompts', 'resources'] as const;
export type ListedKind = (typeof LISTED_KINDS)[number];

/** Called when an upstream reports that one of its lists has changed. */
export type OnListChanged = (kind: ListedKind) => void;

/** The notification of both eras (MCP 2025-11-25 and 2026-07-28, "List Changed Notification"). */
export function listChangedMethod<K extends ListedKind>(kind: K): `notifications/${K}/list_changed` {
  return `notifications/${kind}/list_changed`;
}

/** The notification that the contents of a resource have changed, in both eras. */
export const RESOURCE_UPDATED = 'notifications/resources/updated';

/** What has changed: a list, or a resource. */
type Change = { readonly kind: ListedKind } | { readonly uri: string };

/** The change that a notification of an upstream reports; undefined for any other one. */
export function changeIn({ method, params }: Readonly<Record<string, unknown>>): Change | undefined {
  const kind = LISTED_KINDS.find((one) => listChangedMethod(one) === method);
  if (kind !== undefined) return { kind };
  const uri = method === RESOURCE_UPDATED && isRecord(params) ? params['uri'] : undefined;
  return typeof uri === 'string' ? { uri } : undefined;
}

/** The parameters of `subscriptions/listen` for these lists (MCP 2026-07-28). */
export function subscriptionTo(kinds: readonly ListedKind[]): Record<string, true> {
  return Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true as const]));
}

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
