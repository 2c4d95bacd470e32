/** A column of the database that holds vault envelopes, or null. */
export interface SealedColumn {
  /** A table with the primary key `id`, a UUID. */
  readonly table: string;
  readonly column: string;
  /** What the envelope of a row is bound to; it opens nowhere else. */
  readonly contextOf: (id: string) => string;
}

/**
 * Every place where an envelope is stored. Rotation goes through these and no others: an envelope elsewhere would be lost
 * with its key.
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
} as const satisfies Record<string, SealedColumn>;
