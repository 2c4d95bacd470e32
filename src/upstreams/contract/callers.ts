import type { ClientCapabilities } from '@modelcontextprotocol/client';
import type { Principal } from '../../core/principal.js';

export interface ToolCaller {
  /**
   * The person for whom the call is made; absent for a key of the organization and for a caller without a credential.
   */
  readonly userId?: string | null;
  readonly apiKeyId?: string | null;
  /** The key whose quotas the caller uses, if that is not its own (`quotaHolderOf`). */
  readonly quotaKeyId?: string;
  readonly runId?: string;
  /** The network of a caller without a credential. */
  readonly address?: string;
  /** Sent upstream as `x-request-id`. */
  readonly requestId: string;
}

/** The caller of the service's own requests, such as listing tools. */
export const SERVICE = 'service';

/**
 * The key of a caller's quota: one for each API key, one for each person, and one for all callers without a credential.
 */
export function keyOfCaller({
  quotaKeyId,
  apiKeyId,
  userId,
}: Pick<ToolCaller, 'quotaKeyId' | 'apiKeyId' | 'userId'>): string {
  return quotaKeyId ?? apiKeyId ?? userId ?? 'anonymous';
}

/** The caller to whom upstream sessions belong, whose quotas it uses, and the credential without which they end. */
export type SessionCaller = Pick<Principal, 'callerId' | 'kind' | 'credentialId' | 'keyLimits'>;

/**
 * Who has upstream sessions and programs of its own, so that no other caller sees what it does in them: the session of
 * a client, a thread, or a caller without either.
 */
export interface StateOwner {
  /** Unique among all owners. */
  readonly key: string;
  /** Whose quota the sessions use. See `Principal.callerId`. */
  readonly callerId: string;
  /** The credential without which they end; absent: they end when they are idle. */
  readonly credential?: Pick<Principal, 'kind' | 'credentialId'>;
  /** What the sessions declare that the client answers, in the legacy era; absent: nothing. */
  readonly capabilities?: ClientCapabilities;
}

/**
 * A client in its session with this service.
 * @param capabilities of the client, as it declared them when it opened the session
 */
export function ownerOfSession(
  sessionKey: string,
  caller: SessionCaller,
  capabilities?: ClientCapabilities,
): StateOwner {
  const owner = { key: `session ${sessionKey}`, callerId: caller.callerId, credential: caller };
  return capabilities === undefined ? owner : { ...owner, capabilities };
}

/**
 * A caller whose requests belong to no session.
 * @param capabilities of its client. With other ones, it has other sessions.
 */
export function ownerOfCaller(caller: SessionCaller, capabilities?: ClientCapabilities): StateOwner {
  const owner = { key: `caller ${caller.callerId}`, callerId: caller.callerId, credential: caller };
  if (capabilities === undefined) return owner;
  return { ...owner, key: `${owner.key} ${JSON.stringify(capabilities)}`, capabilities };
}

/** Callers choose the ids of threads, also those that deleted threads had. */
interface OwningThread {
  readonly id: string;
  readonly createdAt: Date;
}

/**
 * A thread, whose runs belong together, whichever key posts them. What ends a run ends its calls; its sessions end when
 * they are idle.
 */
export function ownerOfThread({ id, createdAt }: OwningThread, callerId: string): StateOwner {
  return { key: `thread ${id} ${createdAt.getTime()}`, callerId };
}
