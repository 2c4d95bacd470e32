import { DomainError } from '../../core/domain-error.js';
import { allows, allowsAny } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import type { Connection } from '../../connections/connection.js';
import { keyOfCaller, type ToolCaller } from '../../upstreams/contract/tool-caller.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import { isMarkedPublic } from '../../upstreams/catalog/tool-list.js';

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

  /** Does the service make the caller's tool calls as tasks? Callers do so themselves, except through an agent. */
  get callsAsTask(): boolean {
    return false;
  }

  /** Is the caller permitted to use everything that the connection offers? */
  get holdsAll(): boolean {
    return this.mayCall(ALL);
  }

  /** Does a grant permit this tool or kind of resource? Public tools need no grant. */
  mayCall(tool: string): boolean {
    return this.principal !== undefined && allows(this.principal.permissions, this.connection.id, tool);
  }

  /** Does the caller hold any grant on the connection? */
  get holdsAny(): boolean {
    return this.principal !== undefined && allowsAny(this.principal.permissions, this.connection.id);
  }

  /** Is the tool listed for this caller? A list contains exactly the tools that can be called. */
  sees(tool: UpstreamTool): boolean {
    const isPublic = this.connection.publicTools === 'honor' && isMarkedPublic(tool._meta);
    return isPublic || this.mayCall(tool.name);
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

export function credentialMissing(): DomainError {
  return new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.');
}
