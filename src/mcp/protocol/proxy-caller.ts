import { DomainError } from '../../common/domain-error.js';
import { allows, allowsAny } from '../../common/permissions.js';
import type { Principal } from '../../common/principal.js';
import type { Connection } from '../../connections/connection.js';
import { keyOfCaller, type ToolCaller } from '../../upstreams/contract/tool-caller.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import { isMarkedPublic } from '../../upstreams/catalog/tool-list.js';

const ALL = '*';

/** Who asks a connection for something, and what that caller may. Pure: what is not permitted here is denied. */
export class ProxyCaller {
  constructor(
    /** Undefined for a caller without a credential, who may use public tools. */
    readonly principal: Principal | undefined,
    readonly connection: Connection,
    readonly requestId: string,
  ) {}

  /** The agent by way of which the connection is used. */
  get agentId(): string | undefined {
    return undefined;
  }

  /** May call every tool, and everything else that the connection offers. */
  get holdsAll(): boolean {
    return this.mayCall(ALL);
  }

  /** Was this tool, or this kind of resource, granted? Public tools need no grant. */
  mayCall(tool: string): boolean {
    return this.principal !== undefined && allows(this.principal.permissions, this.connection.id, tool);
  }

  /** Holds a grant of any kind on the connection. */
  get holdsAny(): boolean {
    return this.principal !== undefined && allowsAny(this.principal.permissions, this.connection.id);
  }

  /** Does the tool belong on a list for this caller? A list shows exactly what can be called. */
  sees(tool: UpstreamTool): boolean {
    const isPublic = this.connection.publicTools === 'honor' && isMarkedPublic(tool._meta);
    return isPublic || this.mayCall(tool.name);
  }

  /** Whose quotas this caller uses. */
  get key(): string {
    return keyOfCaller(this.principal ?? {});
  }

  get asToolCaller(): ToolCaller {
    const { requestId, principal } = this;
    if (principal === undefined) return { requestId };
    return { requestId, userId: principal.userId, apiKeyId: principal.apiKeyId };
  }
}

export function credentialMissing(): DomainError {
  return new DomainError('credential_missing', 'Send `Authorization: Bearer <API_KEY>`.');
}
