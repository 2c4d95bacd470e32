import type { KeyLimit, OrganizationLimits } from './limits.js';
import type { PermissionMap } from './permissions.js';

/**
 * Who can run agents and read streams: every valid credential of the organization, or those with a grant on the agent.
 */
export type RunAccess = 'members' | 'granted';

/**
 * The kinds of credentials. Each has a verifier and a way to watch it (`identity/credentials/credential-source.ts`).
 * `browser_session` is a person who is signed in with a browser; `member` is the membership itself, for what outlasts
 * the session that made it.
 */
export type CredentialKind = 'api_key' | 'oauth' | 'issuer' | 'thread_token' | 'browser_session' | 'member';

/** What a browser token can do with its thread. */
export const THREAD_PERMISSIONS = ['post', 'read', 'cancel', 'approve'] as const;
export type ThreadPermission = (typeof THREAD_PERMISSIONS)[number];

/** The caller: built by the auth guard from a verified credential only, never from other parts of the request. */
export interface Principal {
  kind: CredentialKind;
  /** Identifies the credential among those of its kind, for watching it while a response is open. */
  credentialId: string;
  /** Whose MCP sessions and tasks the caller uses: the key's, or those of the person with this client. */
  callerId: string;
  /** `limits` is absent if the organization has none of its own. */
  organization: { id: string; slug: string; limits?: OrganizationLimits };
  runAccess: RunAccess;
  /** The person for whom the credential acts; null for a key of the organization. */
  userId: string | null;
  apiKeyId: string | null;
  /**
   * The rate limits of that key and of its makers, each counted for all keys and tokens that were made with it; absent:
   * no limit.
   */
  keyLimits?: readonly KeyLimit[];
  /** The OAuth grant behind the credential. */
  grantId: string | null;
  clientId: string | null;
  /**
   * The path of the only resource that the credential opens, in lower case and without a trailing slash; absent: no
   * limit.
   */
  resource?: string;
  /** The OAuth scopes of the credential; absent: no limit. */
  scopes?: readonly string[];
  /** The only thread that the credential opens, and how; absent unless it is a browser token. */
  thread?: { readonly id: string; readonly permissions: readonly ThreadPermission[] };
  /** The complete permissions of this caller; anything absent is denied. */
  permissions: PermissionMap;
  /** Equal for equal permissions of this credential: a comparison shows whether they have changed. */
  permissionsDigest: string;
}

/**
 * Whose quotas the caller uses: those of the first limited key in the line of its makers, so that a limited key cannot
 * multiply them; otherwise its own.
 */
export function quotaHolderOf({ keyLimits, callerId }: Pick<Principal, 'keyLimits' | 'callerId'>): string {
  return keyLimits?.at(-1)?.keyId ?? callerId;
}

/** The organization of a principal. */
export function principalOrganization(id: string, slug: string, limits: OrganizationLimits): Principal['organization'] {
  return Object.keys(limits).length === 0 ? { id, slug } : { id, slug, limits };
}
