/** A database column of vault envelopes or null. */
export interface SealedColumn {
  /** A table with the primary key `id`, a UUID. */
  readonly table: string;
  readonly column: string;
  /** SQL for the owner of a row's envelope; by default the row's id. */
  readonly owner?: string;
  /** The context of the envelope, which opens only in that context. */
  readonly contextOf: (owner: string) => string;
  /** How many rows rotation reads at once, where envelopes are large. */
  readonly batchRows?: number;
}

/**
 * Every column of envelopes that have to outlive their key. Rotation covers only these: an envelope stored elsewhere
 * becomes unreadable when its key is removed. The handles of `asked_tasks` may, because clients hold copies of them.
 */
export const SEALED_COLUMNS = {
  connectionToken: {
    table: 'connections',
    column: 'connection_token',
    contextOf: (id) => `connection:${id}:token`,
  },
  connectionHeaders: {
    table: 'connections',
    column: 'connection_headers',
    contextOf: (id) => `connection:${id}:headers`,
  },
  connectionStdioEnv: {
    table: 'connections',
    column: 'stdio_env',
    contextOf: (id) => `connection:${id}:stdio_env`,
  },
  aiProviderApiKey: {
    table: 'ai_providers',
    column: 'api_key',
    contextOf: (id) => `ai_provider:${id}:api_key`,
  },
  aiProviderSecrets: {
    table: 'ai_providers',
    column: 'secrets',
    contextOf: (id) => `ai_provider:${id}:secrets`,
  },
  oauthRecord: {
    table: 'oauth_records',
    column: 'payload',
    contextOf: (id) => `oauth_record:${id}:payload`,
  },
  oauthSigningKey: {
    table: 'oauth_signing_keys',
    column: 'jwk',
    contextOf: (id) => `oauth_signing_key:${id}:jwk`,
  },
  connectionOauthClientSecret: {
    table: 'connections',
    column: 'oauth_client_secret',
    contextOf: (id) => `connection:${id}:oauth_client_secret`,
  },
  upstreamTokens: {
    table: 'upstream_authorizations',
    column: 'tokens',
    owner: "concat(connection_id, ':', user_id)",
    contextOf: (owner) => `upstream_authorization:${owner}:tokens`,
  },
  upstreamClient: {
    table: 'upstream_clients',
    column: 'client',
    owner: 'connection_id',
    contextOf: (connectionId) => `upstream_client:${connectionId}:client`,
  },
  webhookSecret: {
    table: 'webhooks',
    column: 'secret',
    contextOf: (id) => `webhook:${id}:secret`,
  },
  webhookPreviousSecret: {
    table: 'webhooks',
    column: 'previous_secret',
    contextOf: (id) => `webhook:${id}:previous_secret`,
  },
  idToken: {
    table: 'id_tokens',
    column: 'tokens',
    contextOf: (id) => `id_token:${id}:tokens`,
  },
  upstreamLogIn: {
    table: 'upstream_log_ins',
    column: 'details',
    contextOf: (id) => `upstream_log_in:${id}:details`,
  },
  modelRecording: {
    table: 'model_recordings',
    column: 'content',
    contextOf: (id) => `model_recording:${id}:content`,
    // An envelope can have 700 KB.
    batchRows: 6,
  },
} as const satisfies Record<string, SealedColumn>;
