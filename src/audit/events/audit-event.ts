/** What can happen in an organization, apart from calls of tools. A name starts with what the event is about. */
export const AUDIT_EVENT_NAMES = [
  'login.succeeded',
  'login.failed',
  'password.changed',
  'member.invited',
  'member.joined',
  'member.updated',
  'member.removed',
  'member.reset',
  'role.created',
  'role.updated',
  'role.deleted',
  'organization.updated',
  'key.created',
  'key.updated',
  'key.deleted',
  'grant.created',
  'grant.revoked',
  'client.created',
  'client.deleted',
  'connection.authorized',
  'connection.deauthorized',
  'provider.created',
  'provider.updated',
  'provider.deleted',
  'provider.tiers_set',
  'approval.answered',
  'run.steered',
  'records.exported',
] as const;
export type AuditEventName = (typeof AUDIT_EVENT_NAMES)[number];

/** Kinds of things that an event is about. */
export const EVENT_TARGET_TYPES = [
  'user',
  'member',
  'invitation',
  'role',
  'organization',
  'key',
  'grant',
  'client',
  'connection',
  'provider',
  'tiers',
  'approval',
  'run',
] as const;
export type EventTargetType = (typeof EVENT_TARGET_TYPES)[number];

/** Who caused an event. A `Principal` is one. */
export interface EventActor {
  readonly userId: string | null;
  readonly apiKeyId: string | null;
  readonly clientId: string | null;
}

/** The actor of what no known person or key has caused, such as a failed sign-in or the first start. */
export const NOBODY: EventActor = { userId: null, apiKeyId: null, clientId: null };

/** A person who acts on one of the service's own pages. */
export function personAsActor(userId: string): EventActor {
  return { ...NOBODY, userId };
}

/** An event to record. Contains no credentials. */
export interface AuditEvent {
  readonly event: AuditEventName;
  readonly actor: EventActor;
  /** What the event is about; the name as it is at that moment, cut to 256 characters. */
  readonly target: { readonly type: EventTargetType; readonly id: string | null; readonly name: string | null } | null;
  /**
   * What changed, by property: `{ name: { from: 'old', to: 'new' } }`. Secrets are redacted, recognized by the names of
   * their keys.
   */
  readonly changes?: Readonly<Record<string, unknown>>;
  /**
   * The network address that the event comes from; by default that of the current request, null outside of requests.
   */
  readonly source?: string | null;
}

/**
 * The differences of some properties, for `AuditEvent.changes`: `{ name: { from, to } }` for each that differs as JSON.
 * @param before undefined for something new
 * @param after undefined for something deleted
 */
export function changesBetween<T extends object>(
  before: T | undefined,
  after: T | undefined,
): Readonly<Record<string, { from?: unknown; to?: unknown }>> {
  const names = Object.keys(after ?? before ?? {}) as (keyof T & string)[];
  const changed = names.filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]));
  return Object.fromEntries(
    changed.map((name) => [name, { ...(before && { from: before[name] }), ...(after && { to: after[name] }) }]),
  );
}
