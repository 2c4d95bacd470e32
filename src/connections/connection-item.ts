import { type ConnectionAuthItem, type ConnectionItem, MASK, type StdioItem } from './connection.dto.js';
import type { AuthType, OauthSettings } from './connection.js';
import type { ConnectionEntity } from './connection.entity.js';

/**
 * The connection as returned to callers. It shows which secrets exist (headers and environment variables by name),
 * never their values.
 */
export function toItem(connection: ConnectionEntity): ConnectionItem {
  return {
    id: connection.id,
    title: connection.title,
    description: connection.description,
    connection_type: connection.connectionType,
    connection_url: connection.connectionUrl,
    connection_token: connection.connectionToken === null ? null : MASK,
    auth: toAuth(connection),
    connection_headers:
      connection.connectionHeaders === null ? null : { headers: masked(connection.connectionHeaderNames) },
    stdio: toStdio(connection),
    timeout: connection.timeout,
    status: connection.status,
    status_reason: connection.statusReason,
    status_since: connection.statusSince?.toISOString() ?? null,
    public_tools: connection.publicTools,
    rate_limit: connection.rateLimit,
    shared_state: connection.sharedState,
    pin: connection.pin,
    tools_refreshed_at: connection.toolsRefreshedAt?.toISOString() ?? null,
    tool_count: connection.toolCount,
    import_name: connection.importName,
    created_at: connection.createdAt.toISOString(),
    updated_at: connection.updatedAt.toISOString(),
  };
}

function toAuth({
  connectionType,
  oauth,
  oauthClientSecret,
  connectionToken,
}: ConnectionEntity): ConnectionAuthItem | null {
  if (connectionType !== 'HTTP') return null;
  if (oauth === null) {
    const type = connectionToken === null ? 'none' : 'token';
    return { type, account: 'connection', scope: null, client_id: null, client_secret: null, private_key: null };
  }
  const { machine, account, scope, clientId } = oauth;
  const secret = oauthClientSecret === null ? null : MASK;
  const hasKey = machine === 'private_key';
  return {
    type: oauthTypeOf(oauth),
    account,
    scope,
    client_id: clientId,
    client_secret: hasKey ? null : secret,
    private_key: hasKey ? secret : null,
  };
}

function oauthTypeOf({ isEnterprise, machine }: OauthSettings): AuthType {
  if (machine !== undefined) return 'client_credentials';
  return isEnterprise === true ? 'enterprise' : 'oauth';
}

function toStdio({ stdio, stdioEnvNames }: ConnectionEntity): StdioItem | null {
  if (stdio === null) return null;
  const { command, args, cwd } = stdio;
  return { command, args: [...args], env: masked(stdioEnvNames), cwd };
}

function masked(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, MASK]));
}
