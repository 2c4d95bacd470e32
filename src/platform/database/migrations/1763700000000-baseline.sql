-- The first schema: tables and their indexes, each after what it refers to. Times are `timestamptz(3)` so that a
-- JavaScript `Date` holds them exactly and can serve as a cursor.

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  slug varchar(63) NOT NULL UNIQUE,
  name varchar(128) NOT NULL,
  member_permissions jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  audit_content boolean NOT NULL DEFAULT false,
  run_access varchar(16) NOT NULL DEFAULT 'members' CHECK (run_access IN ('members', 'granted')),
  limits jsonb NOT NULL DEFAULT '{}',
  retention jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE users (
  id uuid PRIMARY KEY,
  name varchar(128) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  email varchar(254),
  email_verified_at timestamptz(3),
  password_hash varchar(256)
);
CREATE UNIQUE INDEX users_email_idx ON users (lower(email));

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
  id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX members_user_idx ON members (user_id);

-- Invitations and password links end with the membership of the person who made them (`made_by`).
CREATE TABLE invitations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  email varchar(254) NOT NULL,
  role varchar(64) NOT NULL,
  token_hash char(64) NOT NULL UNIQUE,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  mailed_hash char(64) UNIQUE,
  made_by uuid,
  FOREIGN KEY (organization_id, made_by) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX invitations_email_idx ON invitations (organization_id, lower(email));
CREATE INDEX invitations_maker_idx ON invitations (organization_id, made_by);

-- An organization has at most one link to its setup page, a member at most one link to reset the password. The links of
-- the operator set the password of a person whatever the organizations.
CREATE TABLE password_links (
  token_hash char(64) PRIMARY KEY,
  organization_id uuid REFERENCES organizations ON DELETE CASCADE,
  user_id uuid REFERENCES users ON DELETE CASCADE,
  is_mailed boolean NOT NULL DEFAULT false,
  expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  made_by uuid,
  FOREIGN KEY (organization_id, made_by) REFERENCES members (organization_id, user_id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX password_links_maker_idx ON password_links (organization_id, made_by);
CREATE INDEX password_links_member_idx ON password_links (organization_id, user_id);
CREATE INDEX password_links_user_idx ON password_links (user_id);

-- Members and open invitations, for a list of both.
CREATE VIEW organization_people AS
  SELECT m.id, m.organization_id, m.user_id, coalesce(u.email, '') AS email, u.name, m.role,
         'active'::varchar AS status, m.created_at
    FROM members m JOIN users u ON u.id = m.user_id
  UNION ALL
  SELECT i.id, i.organization_id, NULL, i.email, NULL, i.role, 'invited', i.created_at
    FROM invitations i WHERE i.expires_at > now();

CREATE TABLE issuer_identities (
  issuer varchar(512) NOT NULL,
  subject varchar(255) NOT NULL,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX issuer_identities_user_idx ON issuer_identities (user_id);

CREATE TABLE browser_sessions (
  id uuid PRIMARY KEY,
  secret_hash char(64) NOT NULL UNIQUE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_seen_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX browser_sessions_user_idx ON browser_sessions (user_id);

-- The layout of rate-limiter-flexible, as that of `mail_counts` and `rate_limits`.
CREATE TABLE failed_sign_ins (
  key varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
CREATE INDEX failed_sign_ins_expire_idx ON failed_sign_ins (expire);

CREATE TABLE mail_counts (
  key varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
CREATE INDEX mail_counts_expire_idx ON mail_counts (expire);

-- Unlogged: a crash of the database may begin new windows, and no count waits for the disk.
CREATE UNLOGGED TABLE rate_limits (
  key varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
CREATE INDEX rate_limits_expire_idx ON rate_limits (expire);

-- The states of sign-ins that were used: each is valid once (`src/proxy/forwarding/session/request-states.ts`).
CREATE TABLE used_sign_ins (
  id uuid PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_sign_ins_expiry_idx ON used_sign_ins (expires_at);

-- The state of the authorization server, so that any process can answer any step. Values that open something (tokens,
-- codes, sessions) are stored as the id that is derived from them, and what they stand for as a vault envelope.
CREATE TABLE oauth_grants (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  client_id varchar(2048) NOT NULL,
  client_name varchar(256) NOT NULL,
  resource varchar(2048) NOT NULL,
  scope varchar(256) NOT NULL,
  is_remembered boolean NOT NULL,
  last_used_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX oauth_grants_client_idx ON oauth_grants (user_id, client_id);
CREATE INDEX oauth_grants_member_idx ON oauth_grants (organization_id, user_id);

CREATE TABLE oauth_records (
  id uuid PRIMARY KEY,
  model varchar(32) NOT NULL,
  payload text NOT NULL,
  grant_id uuid,
  uid_id uuid,
  client_id varchar(2048),
  source varchar(64),
  scope varchar(256),
  expires_at timestamptz(3),
  consumed_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX oauth_records_expiry_idx ON oauth_records (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX oauth_records_grant_idx ON oauth_records (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX oauth_records_source_idx ON oauth_records (source, created_at) WHERE source IS NOT NULL;
CREATE INDEX oauth_records_uid_idx ON oauth_records (uid_id) WHERE uid_id IS NOT NULL;

CREATE TABLE oauth_clients (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  client_id varchar(64) NOT NULL UNIQUE,
  name varchar(128) NOT NULL,
  redirect_uris jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX oauth_clients_organization_idx ON oauth_clients (organization_id, created_at);

CREATE TABLE oauth_signing_keys (
  id uuid PRIMARY KEY,
  jwk text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

-- The keys of a person end with the membership, those made with an OAuth token with its grant, and those made with a
-- key with that key (`maker_key_id`). A key that a deleted key has left behind goes on using its quota
-- (`quota_key_id`).
CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id uuid REFERENCES users ON DELETE CASCADE,
  name varchar(64) NOT NULL,
  key_prefix char(12) NOT NULL,
  key_hash char(64) NOT NULL UNIQUE,
  permissions jsonb NOT NULL,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  grant_id uuid REFERENCES oauth_grants ON DELETE CASCADE,
  resource varchar(2048),
  scope varchar(256),
  rate_limit jsonb,
  maker_key_id uuid REFERENCES api_keys ON DELETE CASCADE,
  quota_key_id uuid,
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX api_keys_grant_idx ON api_keys (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX api_keys_maker_idx ON api_keys (maker_key_id) WHERE maker_key_id IS NOT NULL;
CREATE INDEX api_keys_member_idx ON api_keys (organization_id, user_id);
CREATE INDEX api_keys_organization_idx ON api_keys (organization_id, created_at);

CREATE TABLE connections (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  connection_type varchar(16) NOT NULL,
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
  stdio jsonb,
  stdio_env text,
  stdio_env_names jsonb NOT NULL DEFAULT '[]',
  oauth jsonb,
  oauth_client_secret text,
  rate_limit jsonb,
  import_name varchar(128),
  shared_state boolean NOT NULL DEFAULT false,
  status_since timestamptz(3) DEFAULT now(),
  UNIQUE (organization_id, id),
  CONSTRAINT connections_oauth_check CHECK (oauth IS NOT NULL OR oauth_client_secret IS NULL),
  CONSTRAINT connections_stdio_check CHECK ((connection_type = 'STDIO') = (stdio IS NOT NULL))
);
CREATE UNIQUE INDEX connections_import_idx ON connections (organization_id, import_name)
  WHERE import_name IS NOT NULL;
CREATE INDEX connections_organization_idx ON connections (organization_id, created_at);

-- Without a user, the account belongs to the connection. A person who leaves the organization takes the own account
-- along. The lease is that of the process that refreshes the tokens.
CREATE TABLE upstream_authorizations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  connection_id uuid NOT NULL,
  user_id uuid,
  connection_url varchar(2048) NOT NULL,
  tokens text NOT NULL,
  refresh_at timestamptz(3),
  expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  refresh_lease uuid,
  refresh_lease_until timestamptz(3),
  UNIQUE NULLS NOT DISTINCT (connection_id, user_id),
  FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, user_id) REFERENCES members (organization_id, user_id) ON DELETE CASCADE
);

CREATE TABLE upstream_clients (
  id uuid PRIMARY KEY,
  connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
  issuer varchar(2048) NOT NULL,
  redirect_uri varchar(2048) NOT NULL,
  client text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (connection_id, issuer, redirect_uri)
);

CREATE TABLE upstream_log_ins (
  id uuid PRIMARY KEY,
  state_hash char(64) NOT NULL UNIQUE,
  session_hash char(64) NOT NULL,
  connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  details text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX upstream_log_ins_expires_idx ON upstream_log_ins (expires_at);

-- Who made which task of an MCP server, by which tool.
CREATE TABLE mcp_tasks (
  connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
  owner text NOT NULL,
  digest varchar(64) NOT NULL,
  tool_name text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (connection_id, owner, digest)
);
CREATE INDEX mcp_tasks_expiry_idx ON mcp_tasks (expires_at);

CREATE TABLE agents (
  id uuid PRIMARY KEY REFERENCES connections ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  instructions text,
  tier varchar(16),
  max_steps integer NOT NULL DEFAULT 20,
  history_max_messages integer NOT NULL DEFAULT 200,
  history_max_tokens integer NOT NULL DEFAULT 100000,
  approval_timeout integer NOT NULL DEFAULT 86400
);

CREATE TABLE agent_connections (
  agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
  connection_id uuid NOT NULL REFERENCES connections ON DELETE CASCADE,
  position integer NOT NULL,
  selected_tools jsonb,
  prefix varchar(32),
  approval jsonb NOT NULL DEFAULT '"none"',
  PRIMARY KEY (agent_id, connection_id)
);
CREATE INDEX agent_connections_connection_idx ON agent_connections (connection_id);

CREATE TABLE ai_providers (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  title varchar(128) NOT NULL,
  kind varchar(32) NOT NULL,
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
  price jsonb,
  PRIMARY KEY (organization_id, tier)
);

CREATE TABLE threads (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  id varchar(128) COLLATE "C" NOT NULL,
  title varchar(256) NOT NULL,
  virtual_mcp_id uuid NOT NULL,
  status varchar(16) NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed')),
  created_by uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  metadata jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX threads_created_idx ON threads (organization_id, created_at);
CREATE INDEX threads_metadata_idx ON threads USING gin (metadata jsonb_path_ops);

-- `holder_id`: whose share of the slots the run uses. `turn_at`: set when the run is the first of its thread, which the
-- fair choice of the next run reads without looking at all that wait behind it. `epoch`: the mark of a claim.
-- `runs_failed_idx` costs a run that succeeds nothing.
CREATE TABLE runs (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C" NOT NULL,
  position bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  agent_id uuid NOT NULL,
  user_id uuid,
  api_key_id uuid,
  request_id varchar(128) NOT NULL,
  status varchar(16) NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled')),
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
  turn_at timestamptz(3),
  yields integer NOT NULL DEFAULT 0,
  epoch text,
  traceparent varchar(256),
  tracestate varchar(512),
  grant_id uuid,
  holder_id uuid NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  question_position bigint,
  waiting_since timestamptz(3),
  waited_ms bigint NOT NULL DEFAULT 0,
  schedule_id uuid,
  cost_usd double precision,
  model_calls json NOT NULL DEFAULT '[]',
  FOREIGN KEY (organization_id, thread_id) REFERENCES threads (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX runs_created_idx ON runs (organization_id, created_at);
CREATE INDEX runs_failed_idx ON runs (organization_id, created_at) WHERE status = 'failed';
CREATE UNIQUE INDEX runs_idempotency_idx ON runs (organization_id, thread_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_open_idx ON runs (organization_id, thread_id, position)
  WHERE status IN ('queued', 'running', 'waiting');
CREATE INDEX runs_running_idx ON runs (organization_id) WHERE status = 'running';
CREATE INDEX runs_thread_idx ON runs (organization_id, thread_id, position);
CREATE INDEX runs_turn_idx ON runs (organization_id, holder_id, position)
  WHERE status = 'queued' AND turn_at IS NOT NULL;
CREATE INDEX runs_waiting_idx ON runs (id) WHERE status = 'waiting';

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
  bytes integer,
  superseded_by uuid,
  PRIMARY KEY (organization_id, thread_id, id),
  FOREIGN KEY (organization_id, thread_id) REFERENCES threads (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX messages_thread_idx ON messages (organization_id, thread_id, run_position, ordinal);

-- At most one approval for each tool call of a run. The provider's id of a call is unique in the answer.
CREATE TABLE run_approvals (
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  tool_call_id varchar(128) NOT NULL,
  tool_name varchar(64) NOT NULL,
  connection_id uuid NOT NULL,
  input json NOT NULL,
  requested_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  closed_at timestamptz(3),
  closed_as varchar(16),
  approved boolean,
  reason text,
  user_id uuid,
  api_key_id uuid,
  called_at timestamptz(3),
  upstream_tool text,
  target_place char(64),
  target_definition char(64)
);
CREATE UNIQUE INDEX run_approvals_call_idx ON run_approvals (run_id, tool_call_id);
CREATE INDEX run_approvals_expires_idx ON run_approvals (expires_at) WHERE closed_at IS NULL;

-- The PostgreSQL side of the run event bus (`src/runtime/events/`): one row per stream, one row per batch of frames. A
-- buffer, not the system of record: rows live about five minutes after their run's end. `run_event_streams` has no
-- index beside its key and spare room on its pages: every append updates its row, and so the update stays on the page
-- (HOT). The sweep reads the table from end to end; it holds one narrow row for each run of the last minutes. After a
-- crash of the database, whose last moments the bus does not wait to see on disk, numbers are used again that readers
-- have already: the epoch tells those frames apart. It also tells writers apart, since an attempt's number can be given
-- twice.
CREATE TABLE run_event_streams (
  run_id uuid PRIMARY KEY,
  fence integer NOT NULL,
  next_n integer NOT NULL,
  ended boolean NOT NULL DEFAULT false,
  expires_at timestamptz NOT NULL,
  epoch text NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- `frames` are the frames' JSON texts joined by U+001E, which cannot occur inside JSON text. Big values are kept
-- uncompressed: they live for minutes and compressing would hold up the write.
CREATE TABLE run_event_batches (
  run_id uuid NOT NULL,
  first_n integer NOT NULL,
  last_n integer NOT NULL,
  frames text NOT NULL,
  epoch text NOT NULL,
  PRIMARY KEY (run_id, last_n),
  CHECK (last_n - first_n BETWEEN 0 AND 255)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE run_event_batches ALTER COLUMN frames SET STORAGE EXTERNAL;

-- Browser tokens: credentials for one thread. A token lives an hour at most. The indexes are for the deletion of
-- expired tokens, threads, keys and users.
CREATE TABLE thread_tokens (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C" NOT NULL,
  token_hash char(64) NOT NULL UNIQUE,
  permissions jsonb NOT NULL,
  maker_kind varchar(16) NOT NULL,
  maker_id varchar(512) NOT NULL,
  caller_id varchar(2304) NOT NULL,
  user_id uuid REFERENCES users ON DELETE CASCADE,
  api_key_id uuid REFERENCES api_keys ON DELETE CASCADE,
  grant_id uuid,
  client_id varchar(2048),
  resource varchar(2048),
  scopes jsonb,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, thread_id) REFERENCES threads (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX thread_tokens_expires_idx ON thread_tokens (expires_at);
CREATE INDEX thread_tokens_key_idx ON thread_tokens (api_key_id);
CREATE INDEX thread_tokens_thread_idx ON thread_tokens (organization_id, thread_id);
CREATE INDEX thread_tokens_user_idx ON thread_tokens (user_id);

CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  url varchar(2048) NOT NULL,
  events jsonb NOT NULL,
  agent_ids jsonb,
  enabled boolean NOT NULL DEFAULT true,
  disabled_reason varchar(256),
  secret text NOT NULL,
  previous_secret text,
  previous_secret_until timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX webhooks_organization_idx ON webhooks (organization_id, created_at);

-- `body` is text: every try sends the same bytes, which are signed. A delivery outlives the record of its run.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event varchar(32) NOT NULL,
  run_id uuid NOT NULL,
  body text NOT NULL,
  status varchar(16) NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts integer NOT NULL DEFAULT 0,
  last_status integer,
  last_error varchar(512),
  next_try_at timestamptz(3),
  claim_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX webhook_deliveries_created_idx ON webhook_deliveries (created_at);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (webhook_id, next_try_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (organization_id, created_at);
CREATE INDEX webhook_deliveries_webhook_idx ON webhook_deliveries (webhook_id);

-- No foreign keys to the agent, the thread and the credential: a schedule without them stays, disabled with the reason.
CREATE TABLE schedules (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  title varchar(256) NOT NULL,
  virtual_mcp_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C",
  cron varchar(256) NOT NULL,
  timezone varchar(64) NOT NULL,
  message text NOT NULL,
  tier varchar(16),
  overlap varchar(16) NOT NULL CHECK (overlap IN ('skip', 'queue')),
  catch_up boolean NOT NULL,
  enabled boolean NOT NULL,
  disabled_reason varchar(256),
  next_run_at timestamptz(3),
  last_run_at timestamptz(3),
  last_run_id uuid,
  last_skipped_at timestamptz(3),
  last_skip_reason varchar(256),
  credential_kind varchar(16) NOT NULL,
  credential_id varchar(2304) NOT NULL,
  user_id uuid,
  api_key_id uuid,
  grant_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX schedules_due_idx ON schedules (next_run_at) WHERE enabled;
CREATE INDEX schedules_organization_idx ON schedules (organization_id, created_at);

-- The record of tool calls. A row is written for every call, and every call waits for it: hence one index only, and
-- neither foreign keys nor checks (records outlive what they name; `src/audit/calls` writes nothing else). The key's
-- order is the order in which records are read: an organization's, by time.
CREATE TABLE audit_records (
  organization_id uuid NOT NULL,
  at timestamptz(3) NOT NULL,
  id uuid NOT NULL,
  door varchar(16) NOT NULL,
  connection_id uuid,
  agent_id uuid,
  tool_name varchar(256) COLLATE "C" NOT NULL,
  status varchar(16) NOT NULL,
  error_code varchar(64),
  duration_ms double precision NOT NULL,
  user_id uuid,
  api_key_id uuid,
  run_id uuid,
  request_id varchar(128) NOT NULL,
  public boolean NOT NULL,
  arguments jsonb,
  result jsonb,
  PRIMARY KEY (organization_id, at, id)
);

-- Without foreign keys to what the events name: events outlive it.
CREATE TABLE audit_events (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  at timestamptz(3) NOT NULL,
  id uuid NOT NULL,
  event varchar(64) COLLATE "C" NOT NULL,
  user_id uuid,
  api_key_id uuid,
  client_id varchar(2048),
  source varchar(64),
  target_type varchar(32),
  target_id varchar(2048),
  target_name varchar(256),
  changes jsonb,
  PRIMARY KEY (organization_id, at, id)
);

-- The names of existing rows are read from their tables, so that only deletions cost something.
CREATE TABLE deleted_names (
  id uuid PRIMARY KEY,
  name varchar(256) NOT NULL,
  deleted_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX deleted_names_deleted_idx ON deleted_names (deleted_at);
