import { DomainError } from '../../core/domain-error.js';
import { allows, allowsAny } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import type { Connection } from '../../connections/connection.js';
import { keyOfCaller, type ToolCaller } from '../../upstreams/contract/callers.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import type { ToolCall } from '../../upstreams/invocation.js';
import { isMarkedPublic } from '../../upstreams/catalog/tool-list.js';
import type { InboundMessage } from './inbound-message.js';

const ALL = '*';

/** The caller of a connection, and what it is permitted to do. Anything that is not granted is denied. */
export class ProxyCaller {
  constructor(
    /** Undefined for a caller without a credential, who can use only public tools. */
    readonly principal: Principal | undefined,
    readonly connection: Connection,
    readonly requestId: string,
  ) {}

  /** The agent through which the connection is used. */
  get agentId(): string | undefined {
    return undefined;
  }

  /** True if the service makes the caller's tool calls as tasks. Callers do so themselves, except through an agent. */
  get callsAsTask(): boolean {
    return false;
  }

  /** Why the caller's tool call is refused, whatever the tool's schema says of its arguments. */
  get refusalFor(): ToolCall['refusalFor'] {
    return undefined;
  }

  /** True if the caller is permitted to use everything that the connection offers. */
  get holdsAll(): boolean {
    return this.mayCall(ALL);
  }

  /** True if a grant permits this tool or kind of resource. Public tools need no grant. */
  mayCall(tool: string): boolean {
    return this.principal !== undefined && allows(this.principal.permissions, this.connection.id, tool);
  }

  /** True if the caller holds any grant on the connection. */
  get holdsAny(): boolean {
    return this.principal !== undefined && allowsAny(this.principal.permissions, this.connection.id);
  }

  /** True if the tool is listed for this caller. A list contains exactly the tools that can be called. */
  sees(tool: UpstreamTool): boolean {
    const isPublic = this.connection.publicTools === 'honor' && isMarkedPublic(tool._meta);
    return isPublic || this.mayCall(tool.name);
  }

  /**
   * True if log messages of the upstream can be told to belong to the caller's calls: over HTTP they are in the
   * answers. A caller without a credential does not change the level of the session that all callers share.
   */
  get getsLog(): boolean {
    return this.principal !== undefined && (this.connection.type === 'HTTP' || !this.connection.sharedState);
  }

  /** The key of the quotas that this caller uses. */
  get key(): string {
    return keyOfCaller(this.asToolCaller);
  }

  get asToolCaller(): ToolCaller {
    const { requestId, principal } = this;
    if (principal === undefined) return { requestId };
    const { userId, apiKeyId, keyLimits } = principal;
    const quotaKeyId = keyLimits?.at(-1)?.keyId;
    return { requestId, userId, apiKeyId, ...(quotaKeyId !== undefined && { quotaKeyId }) };
  }
}

/** What a caller is permitted to see of an upstream's messages. */
export interface CallerFilter {
  /** True if the caller is permitted to call this tool. */
  readonly shows: (tool: UpstreamTool) => boolean;
  /** The tools of a page that the connection offers; absent if it offers all of them. */
  readonly offer?: (tools: readonly UpstreamTool[]) => readonly UpstreamTool[];
  /** Records what `offer` has found; resolves once it is stored. */
  readonly record?: () => Promise<void>;
  /** Called with a list that is complete on this page. */
  readonly onComplete?: (tools: readonly UpstreamTool[]) => void;
  /** True if the task is one of the caller's. */
  readonly ownsTask: (taskId: string) => boolean;
  /** Set if the caller is permitted to see everything: what the filter takes nothing from passes as it was sent. */
  readonly holdsAll?: true;
}

export function credentialMissing(): DomainError {
  return new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.');
}

/** Methods that need no grant of their own. `tools/call` is checked for each tool, and `tools/list` is filtered. */
const OPEN_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'logging/setLevel',
  'subscriptions/listen',
]);
/** Methods that need the connection's `*` or this permission in its list. */
const GRANTS: readonly (readonly [prefix: string, grant: string])[] = [
  ['resources/', 'resources'],
  // The files of skills are resources (extension `io.modelcontextprotocol/skills`).
  ['skills/', 'resources'],
  ['prompts/', 'prompts'],
];
/** Methods on session state, which callers without a session would share. */
const NEED_SESSION = ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'tasks/'];

/**
 * Checks whether the caller is permitted to send this message to the connection. Tool calls pass: `ToolInvoker` checks
 * them.
 * @throws DomainError `permission_denied`, `credential_missing`, `unknown_method`
 */
export function requireMethod({ method = '', params }: InboundMessage, caller: ProxyCaller): void {
  if (method === '' || method.startsWith('notifications/')) return;
  if (caller.holdsAll) return;
  const grant = grantFor(method, params);
  if (grant !== undefined) {
    if (!caller.mayCall(grant)) throw denied(caller, `This method needs the permission "${grant}" on the connection.`);
    return;
  }
  if (method === 'subscriptions/listen') requireGrant(caller);
  if (OPEN_METHODS.has(method)) return;
  // `TaskOwners` and `ConnectionTasks` limit these to the caller's own tasks.
  if (method.startsWith('tasks/') && caller.principal !== undefined) return;
  throw new DomainError(
    'unknown_method',
    'The service does not know this method. Sending it needs the permission "*".',
  );
}

/**
 * Requires any grant on the connection, because listening occupies a socket to the upstream. A public tool is not a
 * grant.
 * @throws DomainError `permission_denied`, `credential_missing`
 */
export function requireGrant(caller: ProxyCaller): void {
  if (!caller.holdsAny) throw denied(caller, 'Listening needs a permission on this connection.');
}

/** @throws DomainError `invalid_rpc_request` for a message that needs a session */
export function requireSessionless({ kind, method = '' }: InboundMessage): void {
  const needsSession = kind === 'answer' || NEED_SESSION.some((prefix) => method.startsWith(prefix));
  if (needsSession)
    throw new DomainError('invalid_rpc_request', 'This message needs a session. Send `initialize` first.');
}

function grantFor(method: string, params: InboundMessage['params']): string | undefined {
  if (method === 'completion/complete') return isPromptRef(params['ref']) ? 'prompts' : 'resources';
  if (method === 'subscriptions/listen' && 'resourceSubscriptions' in notificationsOf(params)) return 'resources';
  return GRANTS.find(([prefix]) => method.startsWith(prefix))?.[1];
}

function isPromptRef(ref: unknown): boolean {
  return typeof ref === 'object' && ref !== null && 'type' in ref && ref.type === 'ref/prompt';
}

function notificationsOf(params: InboundMessage['params']): object {
  const { notifications } = params;
  return typeof notifications === 'object' && notifications !== null ? notifications : {};
}

function denied({ principal }: ProxyCaller, detail: string): DomainError {
  return principal === undefined ? credentialMissing() : new DomainError('permission_denied', detail);
}
