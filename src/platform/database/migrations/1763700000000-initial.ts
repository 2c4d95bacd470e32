import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The first schema. Times are `timestamptz(3)` so that a JavaScript `Date` holds them exactly and can serve as a cursor.
 */
export class Initial1763700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(ORGANIZATIONS);
    await queryRunner.query(API_KEYS);
    await queryRunner.query(CONNECTIONS);
    await queryRunner.query(THREADS);
    await queryRunner.query(MODELS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE model_tiers, ai_providers, runs, messages, threads, agent_connections, agents, connections,
        api_keys, roles, members, users, organizations`);
  }
}

const ORGANIZATIONS = `
  CREATE TABLE organizations (
    id uuid PRIMARY KEY,
    slug varchar(63) NOT NULL UNIQUE,
    name varchar(128) NOT NULL,
    member_permissions jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE TABLE users (
    id uuid PRIMARY KEY,
    name varchar(128) NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE TABLE roles (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name varchar(64) NOT NULL,
    permissions jsonb NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    UNIQUE (organization_id, name)
  );
  CREATE TABLE members (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    role varchar(64) NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, user_id)
  );
`;

const API_KEYS = `
  CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name varchar(64) NOT NULL,
    key_prefix char(12) NOT NULL,
    key_hash char(64) NOT NULL UNIQUE,
    permissions jsonb NOT NULL,
    expires_at timestamptz(3),
    last_used_at timestamptz(3),
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE INDEX api_keys_organization_idx ON api_keys (organization_id, created_at);
`;

const CONNECTIONS = `
  CREATE TABLE connections (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    connection_type varchar(16) NOT NULL CHECK (connection_type IN ('HTTP', 'STDIO', 'VIRTUAL')),
    title varchar(128) NOT NULL,
    description varchar(2000),
    connection_url varchar(2048),
    connection_token text,
    connection_headers text,
    connection_header_names jsonb NOT NULL DEFAULT '[]',
    timeout integer NOT NULL DEFAULT 300000,
    status varchar(16) NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive', 'error')),
    status_reason varchar(1000),
    public_tools varchar(16) NOT NULL DEFAULT 'honor' CHECK (public_tools IN ('honor', 'ignore')),
    tools json,
    tools_refreshed_at timestamptz(3),
    revision integer NOT NULL DEFAULT 1,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    UNIQUE (organization_id, id)
  );
  CREATE INDEX connections_organization_idx ON connections (organization_id, created_at);
  CREATE TABLE agents (
    id uuid PRIMARY KEY REFERENCES connections ON DELETE CASCADE,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    instructions text,
    tier varchar(16),
    max_steps integer NOT NULL DEFAULT 20
  );
  CREATE TABLE agent_connections (
    agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
    connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
    position integer NOT NULL,
    selected_tools jsonb,
    prefix varchar(32),
    PRIMARY KEY (agent_id, connection_id)
  );
  CREATE INDEX agent_connections_connection_idx ON agent_connections (connection_id);
`;

const THREADS = `
  CREATE TABLE threads (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    id varchar(128) COLLATE "C" NOT NULL,
    title varchar(256) NOT NULL,
    virtual_mcp_id uuid NOT NULL,
    status varchar(16) NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed')),
    created_by uuid NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, id)
  );
  CREATE INDEX threads_created_idx ON threads (organization_id, created_at);
  CREATE TABLE runs (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL,
    thread_id varchar(128) COLLATE "C" NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    agent_id uuid NOT NULL,
    user_id uuid NOT NULL,
    api_key_id uuid,
    request_id varchar(128) NOT NULL,
    status varchar(16) NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
    tier varchar(16) NOT NULL,
    temperature double precision,
    message_id varchar(128) NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    step integer NOT NULL DEFAULT 0,
    model varchar(300),
    usage jsonb,
    error jsonb,
    finish_reason varchar(32),
    cancel_requested_at timestamptz(3),
    heartbeat_at timestamptz(3) NOT NULL DEFAULT now(),
    idempotency_key varchar(255),
    idempotency_hash char(64),
    started_at timestamptz(3),
    finished_at timestamptz(3),
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    FOREIGN KEY (organization_id, thread_id) REFERENCES threads (organization_id, id) ON DELETE CASCADE
  );
  CREATE INDEX runs_thread_idx ON runs (organization_id, thread_id, position);
  CREATE INDEX runs_created_idx ON runs (organization_id, created_at);
  CREATE INDEX runs_open_idx ON runs (organization_id, thread_id, position) WHERE status IN ('queued', 'running');
  CREATE UNIQUE INDEX runs_idempotency_idx ON runs (organization_id, thread_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
  CREATE TABLE messages (
    organization_id uuid NOT NULL,
    thread_id varchar(128) COLLATE "C" NOT NULL,
    id varchar(128) COLLATE "C" NOT NULL,
    run_id uuid NOT NULL,
    run_position bigint NOT NULL,
    ordinal integer NOT NULL,
    role varchar(16) NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
    parts json NOT NULL,
    metadata json NOT NULL DEFAULT '{}',
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, thread_id, id),
    FOREIGN KEY (organization_id, thread_id) REFERENCES threads (organization_id, id) ON DELETE CASCADE
  );
  CREATE INDEX messages_thread_idx ON messages (organization_id, thread_id, run_position, ordinal);
`;

const MODELS = `
  CREATE TABLE ai_providers (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    title varchar(128) NOT NULL,
    kind varchar(32) NOT NULL CHECK (kind IN ('openai-compatible', 'openai', 'anthropic')),
    base_url varchar(2048),
    api_key text,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE INDEX ai_providers_organization_idx ON ai_providers (organization_id, created_at);
  CREATE TABLE model_tiers (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    tier varchar(16) NOT NULL CHECK (tier IN ('fast', 'smart', 'thinking')),
    provider_id uuid NOT NULL REFERENCES ai_providers ON DELETE CASCADE,
    model varchar(256) NOT NULL,
    PRIMARY KEY (organization_id, tier)
  );
`;
