import {
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsObject,
  IsString,
  IsUUID,
  Max,
  Min,
  type ValidationArguments,
} from 'class-validator';
import { CreateOf, IdInput, UpdateOf } from '../core/validation/item-input.js';
import {
  AUTH_ACCOUNTS,
  AUTH_TYPES,
  type AuthAccount,
  type AuthType,
  CONNECTION_STATUSES,
  CONNECTION_TYPES,
  type ConnectionStatus,
  type ConnectionType,
  CREATABLE_TYPES,
  MAX_TIMEOUT_MS,
  MIN_TIMEOUT_MS,
  PIN_RULES,
  type PinRule,
  PUBLIC_TOOLS_RULES,
  type PublicToolsRule,
  SETTABLE_STATUSES,
  type SettableStatus,
} from './connection.js';
import {
  IsBearerToken,
  IsClientSecret,
  IsHeaderMap,
  IsHttpUrl,
  IsPrivateKey,
  IsScope,
  IsText,
  IsTitle,
  IsAbsolutePath,
  IsArgumentList,
  IsCommand,
  IsEnvironment,
} from './field-rules.js';
import { type ConnectionRateLimit, MAX_LIMIT_VALUE } from '../core/limits.js';
import { IsLimit } from '../core/validation/is-limit.js';
import { IsOptionalObject, Nested } from '../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../core/validation/presence.js';
import { ItemOf, PageOf } from '../core/paging/page-of.js';

/** Masks a stored secret in responses. In an update, it keeps the stored value. */
export const MASK = '***';

const MAX_DESCRIPTION_LENGTH = 2000;
const ALTERNATIVES = new Intl.ListFormat('en', { type: 'disjunction' });

class ConnectionHeaders {
  @IsHeaderMap()
  headers: Record<string, string>;
}

/** A program that speaks MCP on its standard input and output. An update replaces the whole object. */
export class StdioInput {
  @IsCommand()
  command: string;

  /** Visible to everyone who can read the connection: put secrets into `env`. */
  @MayBeAbsent()
  @IsArgumentList()
  args?: string[];

  @MayBeAbsent()
  @IsEnvironment()
  env?: Record<string, string>;

  /** The working directory; absent or null is `/`. */
  @MayBeAbsent()
  @MayBeNull()
  @IsAbsolutePath()
  cwd?: string | null;
}

/** The program as returned to callers: of the environment only the names. */
export class StdioItem {
  @IsString()
  command: string;

  @IsArgumentList()
  args: string[];

  @IsEnvironment()
  env: Record<string, string>;

  @MayBeNull()
  @IsString()
  cwd: string | null;
}

/** How the service authenticates to the upstream of an HTTP connection. An update replaces the whole object. */
export class ConnectionAuthInput {
  /**
   * `oauth`: with access tokens of the upstream's authorization server; CONNECTION_AUTHORIZE gives the page to log in.
   * `enterprise`: with those that it issues for assertions of OIDC_ISSUER about the person who has signed in there.
   * `client_credentials`: with those that it issues to the client itself, without a person.
   */
  @IsIn(AUTH_TYPES)
  type: AuthType;

  /** For `oauth`: one account for the connection (the default), or an own one for each member, as for `enterprise`. */
  @MayBeAbsent()
  @IsIn(AUTH_ACCOUNTS)
  account?: AuthAccount;

  /** Scopes to request, separated by spaces; by default those that the upstream asks for. */
  @MayBeAbsent()
  @MayBeNull()
  @IsScope()
  scope?: string | null;

  /**
   * A client that was set up at the authorization server. `enterprise` requires it, with its secret, and
   * `client_credentials`, with its secret or private key; for `oauth`, the service by default registers one.
   */
  @MayBeAbsent()
  @MayBeNull()
  @IsClientSecret()
  client_id?: string | null;

  /** The secret of that client. Write-only. */
  @MayBeAbsent()
  @MayBeNull()
  @IsClientSecret()
  client_secret?: string | null;

  /**
   * For `client_credentials`, in place of the secret: a private key in PEM, or as the text of a JWK, with which the
   * client signs what it authenticates with (`private_key_jwt`). Write-only.
   */
  @MayBeAbsent()
  @MayBeNull()
  @IsPrivateKey()
  private_key?: string | null;
}

/** The same as returned to callers, without the secrets. */
export class ConnectionAuthItem {
  @IsIn(AUTH_TYPES)
  type: AuthType;

  @IsIn(AUTH_ACCOUNTS)
  account: AuthAccount;

  @MayBeNull()
  @IsString()
  scope: string | null;

  @MayBeNull()
  @IsString()
  client_id: string | null;

  @MayBeNull()
  @IsIn([MASK])
  client_secret: typeof MASK | null;

  @MayBeNull()
  @IsIn([MASK])
  private_key: typeof MASK | null;
}

/** Counts tool calls in windows of 60 s. An absent member keeps its value, and null clears it. */
class ConnectionRateLimitInput {
  /** Calls of all callers together. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_LIMIT_VALUE)
  per_minute?: number | null;

  /** Calls of each person, of each key of the organization, and of each address without a credential. */
  @MayBeAbsent()
  @MayBeNull()
  @IsLimit(MAX_LIMIT_VALUE)
  per_caller_per_minute?: number | null;
}

/** The limits that are set. */
class ConnectionRateLimitItem {
  @MayBeAbsent()
  @IsLimit(MAX_LIMIT_VALUE)
  per_minute?: number;

  @MayBeAbsent()
  @IsLimit(MAX_LIMIT_VALUE)
  per_caller_per_minute?: number;
}

/** Properties that are optional when a connection is created or updated. Null clears the value. */
class ConnectionOptions {
  @MayBeAbsent()
  @MayBeNull()
  @IsText(MAX_DESCRIPTION_LENGTH)
  description?: string | null;

  /** Sent as `Authorization: Bearer …`. Write-only. */
  @MayBeAbsent()
  @MayBeNull()
  @IsBearerToken()
  connection_token?: string | null;

  /** By default `token` with a stored token, otherwise `none`. Only for HTTP connections. */
  @MayBeAbsent()
  @IsObject()
  @Nested(() => ConnectionAuthInput)
  auth?: ConnectionAuthInput;

  /** Sent with every request to the upstream. An update replaces all headers. The values are write-only. */
  @IsOptionalObject(() => ConnectionHeaders)
  connection_headers?: ConnectionHeaders | null;

  /** The program of a STDIO connection, which requires it. */
  @MayBeAbsent()
  @IsObject()
  @Nested(() => StdioInput)
  stdio?: StdioInput;

  /** The time limit for one tool call, in milliseconds. */
  @MayBeAbsent()
  @IsInt()
  @Min(MIN_TIMEOUT_MS)
  @Max(MAX_TIMEOUT_MS)
  timeout?: number;

  @MayBeAbsent()
  @IsIn(SETTABLE_STATUSES)
  status?: SettableStatus;

  /** Whether unauthenticated callers can call tools that the upstream marks as public. */
  @MayBeAbsent()
  @IsIn(PUBLIC_TOOLS_RULES)
  public_tools?: PublicToolsRule;

  /** Null removes the limits. */
  @IsOptionalObject(() => ConnectionRateLimitInput)
  rate_limit?: ConnectionRateLimitInput | null;

  /**
   * Whether callers of agents, runs, and callers without a session share one session with the upstream, and what it
   * keeps in it, such as an open page. By default, each has its own with a program and with a server that opens
   * sessions. Not for agents.
   */
  @MayBeAbsent()
  @IsBoolean()
  shared_state?: boolean;

  /**
   * What happens to tools whose definition has changed or is new: `off`, the default, compares nothing, `warn` marks
   * and records them, `block` neither lists nor calls them until CONNECTION_TOOLS_APPROVE. Switching it on approves the
   * tools that are listed at that moment. Not for agents.
   */
  @MayBeAbsent()
  @IsIn(PIN_RULES)
  pin?: PinRule;
}

export class ConnectionCreateData extends ConnectionOptions {
  @IsIn(CREATABLE_TYPES, { message: whyNotCreatable })
  connection_type: ConnectionType;

  @IsTitle()
  title: string;

  /**
   * The MCP endpoint (streamable HTTP) of an HTTP connection, which requires it. Other types define their own meaning.
   */
  @MayBeAbsent()
  @IsHttpUrl()
  connection_url?: string;
}

/** Absent properties keep their value. */
export class ConnectionUpdateData extends ConnectionOptions {
  @MayBeAbsent()
  @IsTitle()
  title?: string;

  @MayBeAbsent()
  @IsHttpUrl()
  connection_url?: string;
}

export class ConnectionCreateInput extends CreateOf(ConnectionCreateData) {}

export class ConnectionUpdateInput extends UpdateOf(ConnectionUpdateData) {}

export class ConnectionIdInput extends IdInput {}

/** A connection as returned to callers, without secrets. */
export class ConnectionItem {
  @IsUUID()
  id: string;

  @IsString()
  title: string;

  @MayBeNull()
  @IsString()
  description: string | null;

  @IsIn(CONNECTION_TYPES)
  connection_type: ConnectionType;

  @MayBeNull()
  @IsString()
  connection_url: string | null;

  @MayBeNull()
  @IsIn([MASK])
  connection_token: typeof MASK | null;

  /** Null for connections that are not of type HTTP. */
  @MayBeNull()
  @Nested(() => ConnectionAuthItem)
  auth: ConnectionAuthItem | null;

  @MayBeNull()
  @Nested(() => ConnectionHeaders)
  connection_headers: ConnectionHeaders | null;

  @MayBeNull()
  @Nested(() => StdioItem)
  stdio: StdioItem | null;

  @IsInt()
  timeout: number;

  @IsIn(CONNECTION_STATUSES)
  status: ConnectionStatus;

  /** Why the status is `error`, or why an active connection cannot use its account at the upstream. */
  @MayBeNull()
  @IsString()
  status_reason: string | null;

  /** Since when the connection has its status. Null if that was before the service recorded it. */
  @MayBeNull()
  @IsISO8601()
  status_since: string | null;

  @IsIn(PUBLIC_TOOLS_RULES)
  public_tools: PublicToolsRule;

  @MayBeNull()
  @Nested(() => ConnectionRateLimitItem)
  rate_limit: ConnectionRateLimit | null;

  /** Whether callers share one session with the upstream, and what it keeps in it. */
  @IsBoolean()
  shared_state: boolean;

  /** What happens to tools whose definition has changed or is new. Always `off` for agents. */
  @IsIn(PIN_RULES)
  pin: PinRule;

  /** When the upstream's tools were last listed. */
  @MayBeNull()
  @IsISO8601()
  tools_refreshed_at: string | null;

  /** How many tools the upstream last listed; null for agents, and while it has listed none. */
  @MayBeNull()
  @IsInt()
  tool_count: number | null;

  /**
   * The name of the connection in the file that it was imported from (CONNECTION_IMPORT); null if it was not imported.
   */
  @MayBeNull()
  @IsString()
  import_name: string | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class ConnectionAnswer extends ItemOf(ConnectionItem) {}

export class ConnectionPage extends PageOf(ConnectionItem) {}

function whyNotCreatable({ value }: ValidationArguments): string {
  if (value === 'VIRTUAL') return 'VIRTUAL connections are agents; create one with COLLECTION_VIRTUAL_MCP_CREATE';
  return `must be ${ALTERNATIVES.format(CREATABLE_TYPES)}`;
}
