/** A database column of vault envelopes or null. */
export interface SealedColumn {
  /** A table with the primary key `id`, a UUID. */
  readonly table: string;
  readonly column: string;
  /** The context of a row's envelope, which opens only in that context. */
  readonly contextOf: (id: string) => string;
}

/**
 * Every column that stores envelopes. Rotation covers only these: an envelope stored elsewhere becomes unreadable when its
 * key is removed.
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
} as const satisfies Record<string, SealedColumn>;
