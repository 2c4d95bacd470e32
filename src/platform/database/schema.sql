-- The schema of an empty database after all migrations, to read. What the functions do is in functions/.
-- Written by `UPDATE_SCHEMA=1 npm test -- schema-snapshot --selectProjects e2e`.

CREATE TABLE organizations (
  id uuid NOT NULL,
  slug varchar(63) NOT NULL,
  name varchar(128) NOT NULL,
  member_permissions jsonb NOT NULL DEFAULT '{}'::jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  audit_content boolean NOT NULL DEFAULT false,
  run_access varchar(16) NOT NULL DEFAULT 'members'::varchar,
  limits jsonb NOT NULL DEFAULT '{}'::jsonb,
  retention jsonb NOT NULL DEFAULT '{}'::jsonb,
  model_recording varchar(16) NOT NULL DEFAULT 'off'::varchar,
  CONSTRAINT organizations_pkey PRIMARY KEY (id),
  CONSTRAINT organizations_slug_key UNIQUE (slug),
  CONSTRAINT organizations_model_recording_check CHECK (((model_recording)::text = ANY ((ARRAY['off'::varchar, 'redacted'::varchar, 'full'::varchar])::text[]))),
  CONSTRAINT organizations_run_access_check CHECK (((run_access)::text = ANY ((ARRAY['members'::varchar, 'granted'::varchar])::text[])))
);
CREATE TRIGGER organizations_spend AFTER UPDATE OF limits ON organizations FOR EACH ROW WHEN (((old.limits ? 'spend'::text) OR (new.limits ? 'spend'::text))) EXECUTE FUNCTION spend_limit_changed('organization');

CREATE TABLE connections (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  connection_type varchar(16) NOT NULL,
  title varchar(128) NOT NULL,
  description varchar(2000),
  connection_url varchar(2048),
  connection_token text,
  connection_headers text,
  connection_header_names jsonb NOT NULL DEFAULT '[]'::jsonb,
  timeout integer NOT NULL DEFAULT 300000,
  status varchar(16) NOT NULL DEFAULT 'active'::varchar,
  status_reason varchar(1000),
  public_tools varchar(16) NOT NULL DEFAULT 'honor'::varchar,
  tools json,
  tools_refreshed_at timestamptz(3),
  revision integer NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  stdio jsonb,
  stdio_env text,
  stdio_env_names jsonb NOT NULL DEFAULT '[]'::jsonb,
  oauth jsonb,
  oauth_client_secret text,
  rate_limit jsonb,
  import_name varchar(128),
  shared_state boolean NOT NULL DEFAULT false,
  status_since timestamptz(3) DEFAULT now(),
  pin varchar(8) NOT NULL DEFAULT 'off'::varchar,
  pin_epoch integer NOT NULL DEFAULT 0,
  pinned_at timestamptz(3),
  tool_count integer,
  CONSTRAINT connections_pkey PRIMARY KEY (id),
  CONSTRAINT connections_organization_id_id_key UNIQUE (organization_id, id),
  CONSTRAINT connections_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT connections_oauth_check CHECK (((oauth IS NOT NULL) OR (oauth_client_secret IS NULL))),
  CONSTRAINT connections_pin_check CHECK (((pin)::text = ANY ((ARRAY['off'::varchar, 'warn'::varchar, 'block'::varchar])::text[]))),
  CONSTRAINT connections_public_tools_check CHECK (((public_tools)::text = ANY ((ARRAY['honor'::varchar, 'ignore'::varchar])::text[]))),
  CONSTRAINT connections_status_check CHECK (((status)::text = ANY ((ARRAY['active'::varchar, 'inactive'::varchar, 'error'::varchar])::text[]))),
  CONSTRAINT connections_stdio_check CHECK ((((connection_type)::text = 'STDIO'::text) = (stdio IS NOT NULL)))
);
CREATE INDEX connections_enterprise_idx ON connections USING btree (organization_id) WHERE ((oauth ->> 'isEnterprise'::text) = 'true'::text);
CREATE UNIQUE INDEX connections_import_idx ON connections USING btree (organization_id, import_name) WHERE (import_name IS NOT NULL);
CREATE INDEX connections_organization_idx ON connections USING btree (organization_id, created_at);
CREATE INDEX connections_program_idx ON connections USING btree (organization_id) WHERE ((connection_type)::text = 'STDIO'::text);
CREATE TRIGGER connections_keep_name AFTER DELETE ON connections FOR EACH ROW EXECUTE FUNCTION keep_name('title');
CREATE TRIGGER connections_status_since BEFORE UPDATE OF status ON connections FOR EACH ROW WHEN (((old.status)::text IS DISTINCT FROM (new.status)::text)) EXECUTE FUNCTION connection_status_since();
CREATE TRIGGER connections_tool_count BEFORE INSERT OR UPDATE OF tools ON connections FOR EACH ROW EXECUTE FUNCTION connection_tool_count();

CREATE TABLE agents (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  instructions text,
  tier varchar(16),
  max_steps integer NOT NULL DEFAULT 20,
  history_max_messages integer NOT NULL DEFAULT 200,
  history_max_tokens integer NOT NULL DEFAULT 100000,
  approval_timeout integer NOT NULL DEFAULT 86400,
  spend jsonb,
  output_schema json,
  webhook_output boolean NOT NULL DEFAULT false,
  tool_mode varchar(8) NOT NULL DEFAULT 'all'::varchar,
  pinned_tools jsonb NOT NULL DEFAULT '[]'::jsonb,
  expose_run boolean NOT NULL DEFAULT false,
  ask_timeout_s integer NOT NULL DEFAULT 600,
  slug varchar(63) NOT NULL DEFAULT ('agent-'::text || gen_random_uuid()),
  CONSTRAINT agents_pkey PRIMARY KEY (id),
  CONSTRAINT agents_id_fkey FOREIGN KEY (id) REFERENCES connections(id) ON DELETE CASCADE,
  CONSTRAINT agents_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX agents_slug_idx ON agents USING btree (organization_id, slug);
CREATE INDEX agents_spend_idx ON agents USING btree (organization_id) WHERE (spend IS NOT NULL);
CREATE TRIGGER agents_spend AFTER DELETE OR UPDATE OF spend ON agents FOR EACH ROW WHEN ((old.spend IS NOT NULL)) EXECUTE FUNCTION spend_limit_changed('agent');
CREATE TRIGGER agents_spend_set AFTER UPDATE OF spend ON agents FOR EACH ROW WHEN (((old.spend IS NULL) AND (new.spend IS NOT NULL))) EXECUTE FUNCTION spend_limit_changed('agent');

CREATE TABLE agent_connections (
  agent_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  "position" integer NOT NULL,
  selected_tools jsonb,
  prefix varchar(32),
  approval jsonb NOT NULL DEFAULT '"none"'::jsonb,
  CONSTRAINT agent_connections_pkey PRIMARY KEY (agent_id, connection_id),
  CONSTRAINT agent_connections_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE,
  CONSTRAINT agent_connections_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE
);
CREATE INDEX agent_connections_connection_idx ON agent_connections USING btree (connection_id);

CREATE TABLE agent_versions (
  agent_id uuid NOT NULL,
  number integer NOT NULL,
  content json NOT NULL,
  user_id uuid,
  api_key_id uuid,
  restored_from integer,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT agent_versions_pkey PRIMARY KEY (agent_id, number),
  CONSTRAINT agent_versions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE
);

CREATE TABLE ai_providers (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  title varchar(128) NOT NULL,
  kind varchar(32) NOT NULL,
  base_url varchar(2048),
  api_key text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  options jsonb NOT NULL DEFAULT '{}'::jsonb,
  secrets text,
  CONSTRAINT ai_providers_pkey PRIMARY KEY (id),
  CONSTRAINT ai_providers_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX ai_providers_organization_idx ON ai_providers USING btree (organization_id, created_at);

CREATE TABLE users (
  id uuid NOT NULL,
  name varchar(128) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  email varchar(254),
  email_verified_at timestamptz(3),
  password_hash varchar(256),
  CONSTRAINT users_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX users_email_idx ON users USING btree (lower((email)::text));
CREATE TRIGGER users_keep_name AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION keep_name('email');

CREATE TABLE members (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  role varchar(64) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  spend jsonb,
  CONSTRAINT members_pkey PRIMARY KEY (organization_id, user_id),
  CONSTRAINT members_id_key UNIQUE (id),
  CONSTRAINT members_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX members_spend_idx ON members USING btree (organization_id) WHERE (spend IS NOT NULL);
CREATE INDEX members_user_idx ON members USING btree (user_id);
CREATE TRIGGER members_spend AFTER DELETE OR UPDATE OF spend ON members FOR EACH ROW WHEN ((old.spend IS NOT NULL)) EXECUTE FUNCTION spend_limit_changed('person');
CREATE TRIGGER members_spend_set AFTER UPDATE OF spend ON members FOR EACH ROW WHEN (((old.spend IS NULL) AND (new.spend IS NOT NULL))) EXECUTE FUNCTION spend_limit_changed('person');

CREATE TABLE oauth_grants (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  client_id varchar(2048) NOT NULL,
  client_name varchar(256) NOT NULL,
  resource varchar(2048) NOT NULL,
  scope varchar(256) NOT NULL,
  is_remembered boolean NOT NULL,
  last_used_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT oauth_grants_pkey PRIMARY KEY (id),
  CONSTRAINT oauth_grants_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES members(organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX oauth_grants_client_idx ON oauth_grants USING btree (user_id, client_id);
CREATE INDEX oauth_grants_member_idx ON oauth_grants USING btree (organization_id, user_id);

CREATE TABLE api_keys (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  user_id uuid,
  name varchar(64) NOT NULL,
  key_prefix char(12) NOT NULL,
  key_hash char(64) NOT NULL,
  permissions jsonb NOT NULL,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  grant_id uuid,
  resource varchar(2048),
  scope varchar(256),
  rate_limit jsonb,
  maker_key_id uuid,
  quota_key_id uuid,
  spend jsonb,
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash),
  CONSTRAINT api_keys_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES oauth_grants(id) ON DELETE CASCADE,
  CONSTRAINT api_keys_maker_key_id_fkey FOREIGN KEY (maker_key_id) REFERENCES api_keys(id) ON DELETE CASCADE,
  CONSTRAINT api_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT api_keys_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES members(organization_id, user_id) ON DELETE CASCADE,
  CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX api_keys_grant_idx ON api_keys USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX api_keys_maker_idx ON api_keys USING btree (maker_key_id) WHERE (maker_key_id IS NOT NULL);
CREATE INDEX api_keys_member_idx ON api_keys USING btree (organization_id, user_id);
CREATE INDEX api_keys_organization_idx ON api_keys USING btree (organization_id, created_at);
CREATE INDEX api_keys_spend_idx ON api_keys USING btree (organization_id) WHERE (spend IS NOT NULL);
CREATE TRIGGER api_keys_keep_name AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION keep_name('name');
CREATE TRIGGER api_keys_spend AFTER DELETE OR UPDATE OF spend ON api_keys FOR EACH ROW WHEN ((old.spend IS NOT NULL)) EXECUTE FUNCTION spend_limit_changed('key');
CREATE TRIGGER api_keys_spend_set AFTER UPDATE OF spend ON api_keys FOR EACH ROW WHEN (((old.spend IS NULL) AND (new.spend IS NOT NULL))) EXECUTE FUNCTION spend_limit_changed('key');

CREATE TABLE threads (
  organization_id uuid NOT NULL,
  id varchar(128) COLLATE "C" NOT NULL,
  title varchar(256) NOT NULL,
  virtual_mcp_id uuid NOT NULL,
  status varchar(16) NOT NULL,
  created_by uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
  is_transient boolean NOT NULL DEFAULT false,
  tools text[] NOT NULL DEFAULT '{}'::text[],
  cost_usd double precision,
  total_tokens bigint NOT NULL DEFAULT 0,
  duration_ms bigint NOT NULL DEFAULT 0,
  CONSTRAINT threads_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT threads_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT threads_status_check CHECK (((status)::text = ANY ((ARRAY['in_progress'::varchar, 'completed'::varchar, 'failed'::varchar])::text[])))
);
CREATE INDEX threads_created_idx ON threads USING btree (organization_id, created_at);
CREATE INDEX threads_metadata_idx ON threads USING gin (metadata jsonb_path_ops);
CREATE INDEX threads_transient_idx ON threads USING btree (created_at) WHERE is_transient;
CREATE INDEX threads_words_idx ON threads USING gin (text_words(organization_id, (title)::text));

CREATE TABLE runs (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C" NOT NULL,
  "position" bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  agent_id uuid NOT NULL,
  user_id uuid,
  api_key_id uuid,
  request_id varchar(128) NOT NULL,
  status varchar(16) NOT NULL,
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
  metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
  question_position bigint,
  waiting_since timestamptz(3),
  waited_ms bigint NOT NULL DEFAULT 0,
  schedule_id uuid,
  cost_usd double precision,
  model_calls json NOT NULL DEFAULT '[]'::json,
  reservation jsonb,
  output json,
  steers integer NOT NULL DEFAULT 0,
  steers_taken integer NOT NULL DEFAULT 0,
  tools text[] NOT NULL DEFAULT '{}'::text[],
  CONSTRAINT runs_pkey PRIMARY KEY (id),
  CONSTRAINT runs_organization_id_thread_id_fkey FOREIGN KEY (organization_id, thread_id) REFERENCES threads(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT runs_status_check CHECK (((status)::text = ANY ((ARRAY['queued'::varchar, 'running'::varchar, 'waiting'::varchar, 'completed'::varchar, 'failed'::varchar, 'cancelled'::varchar])::text[])))
);
CREATE INDEX runs_created_idx ON runs USING btree (organization_id, created_at);
CREATE INDEX runs_failed_idx ON runs USING btree (organization_id, created_at) WHERE ((status)::text = 'failed'::text);
CREATE UNIQUE INDEX runs_idempotency_idx ON runs USING btree (organization_id, thread_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX runs_open_idx ON runs USING btree (organization_id, thread_id, "position") WHERE ((status)::text = ANY ((ARRAY['queued'::varchar, 'running'::varchar, 'waiting'::varchar])::text[]));
CREATE INDEX runs_running_idx ON runs USING btree (organization_id) WHERE ((status)::text = 'running'::text);
CREATE INDEX runs_thread_idx ON runs USING btree (organization_id, thread_id, "position");
CREATE INDEX runs_turn_idx ON runs USING btree (organization_id, holder_id, "position") WHERE (((status)::text = 'queued'::text) AND (turn_at IS NOT NULL));
CREATE INDEX runs_waiting_idx ON runs USING btree (id) WHERE ((status)::text = 'waiting'::text);
CREATE TRIGGER runs_spend_deleted BEFORE DELETE ON runs FOR EACH ROW WHEN ((old.reservation IS NOT NULL)) EXECUTE FUNCTION spend_run_ended();
CREATE TRIGGER runs_spend_ended BEFORE UPDATE OF status ON runs FOR EACH ROW WHEN (((old.reservation IS NOT NULL) AND ((new.status)::text = ANY ((ARRAY['completed'::varchar, 'failed'::varchar, 'cancelled'::varchar])::text[])))) EXECUTE FUNCTION spend_run_ended();
CREATE TRIGGER runs_webhooks AFTER UPDATE OF status ON runs FOR EACH ROW WHEN ((((new.status)::text = ANY ((ARRAY['completed'::varchar, 'failed'::varchar, 'cancelled'::varchar])::text[])) AND ((old.status)::text <> ALL ((ARRAY['completed'::varchar, 'failed'::varchar, 'cancelled'::varchar])::text[])))) EXECUTE FUNCTION webhook_run_ended();

CREATE TABLE asked_tasks (
  run_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  owner text NOT NULL,
  handle text NOT NULL,
  CONSTRAINT asked_tasks_pkey PRIMARY KEY (run_id),
  CONSTRAINT asked_tasks_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id) ON DELETE CASCADE
);
CREATE INDEX asked_tasks_owner_idx ON asked_tasks USING btree (agent_id, owner, run_id);

CREATE TABLE audit_events (
  organization_id uuid NOT NULL,
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
  CONSTRAINT audit_events_pkey PRIMARY KEY (organization_id, at, id),
  CONSTRAINT audit_events_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

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
  CONSTRAINT audit_records_pkey PRIMARY KEY (organization_id, at, id)
);

CREATE TABLE browser_sessions (
  id uuid NOT NULL,
  secret_hash char(64) NOT NULL,
  user_id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_seen_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  CONSTRAINT browser_sessions_pkey PRIMARY KEY (id),
  CONSTRAINT browser_sessions_secret_hash_key UNIQUE (secret_hash),
  CONSTRAINT browser_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX browser_sessions_user_idx ON browser_sessions USING btree (user_id);

CREATE TABLE deleted_names (
  id uuid NOT NULL,
  name varchar(256) NOT NULL,
  deleted_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT deleted_names_pkey PRIMARY KEY (id)
);
CREATE INDEX deleted_names_deleted_idx ON deleted_names USING btree (deleted_at);

CREATE TABLE failed_sign_ins (
  key varchar(255) NOT NULL,
  points integer NOT NULL DEFAULT 0,
  expire bigint,
  CONSTRAINT failed_sign_ins_pkey PRIMARY KEY (key)
);
CREATE INDEX failed_sign_ins_expire_idx ON failed_sign_ins USING btree (expire);

CREATE TABLE file_contents (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  sha256 varchar(64),
  size bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT file_contents_pkey PRIMARY KEY (id),
  CONSTRAINT file_contents_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX file_contents_digest_idx ON file_contents USING btree (organization_id, sha256);
CREATE INDEX file_contents_unused_idx ON file_contents USING btree (created_at) WHERE (sha256 IS NULL);

CREATE TABLE file_chunks (
  content_id uuid NOT NULL,
  n integer NOT NULL,
  bytes bytea STORAGE EXTERNAL NOT NULL,
  CONSTRAINT file_chunks_pkey PRIMARY KEY (content_id, n),
  CONSTRAINT file_chunks_content_id_fkey FOREIGN KEY (content_id) REFERENCES file_contents(id) ON DELETE CASCADE
);

CREATE TABLE files (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  content_id uuid,
  sha256 varchar(64) NOT NULL,
  size bigint NOT NULL,
  media_type varchar(255) NOT NULL,
  filename varchar(255),
  credential_id varchar(2304) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT files_pkey PRIMARY KEY (id),
  CONSTRAINT files_organization_id_id_key UNIQUE (organization_id, id),
  CONSTRAINT files_content_id_fkey FOREIGN KEY (content_id) REFERENCES file_contents(id),
  CONSTRAINT files_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX files_content_idx ON files USING btree (content_id);
CREATE INDEX files_created_idx ON files USING btree (created_at);
CREATE INDEX files_organization_idx ON files USING btree (organization_id, created_at);

CREATE TABLE id_tokens (
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  issuer varchar(2048) NOT NULL,
  tokens text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  is_refreshable boolean NOT NULL,
  refresh_lease_until timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT id_tokens_pkey PRIMARY KEY (id),
  CONSTRAINT id_tokens_session_id_key UNIQUE (session_id),
  CONSTRAINT id_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES browser_sessions(id) ON DELETE CASCADE
);

CREATE TABLE invitations (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  email varchar(254) NOT NULL,
  role varchar(64) NOT NULL,
  token_hash char(64) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  mailed_hash char(64),
  made_by uuid,
  maker_key_id uuid,
  grant_id uuid,
  CONSTRAINT invitations_pkey PRIMARY KEY (id),
  CONSTRAINT invitations_mailed_hash_key UNIQUE (mailed_hash),
  CONSTRAINT invitations_token_hash_key UNIQUE (token_hash),
  CONSTRAINT invitations_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES oauth_grants(id) ON DELETE CASCADE,
  CONSTRAINT invitations_maker_key_id_fkey FOREIGN KEY (maker_key_id) REFERENCES api_keys(id) ON DELETE CASCADE,
  CONSTRAINT invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT invitations_organization_id_made_by_fkey FOREIGN KEY (organization_id, made_by) REFERENCES members(organization_id, user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX invitations_email_idx ON invitations USING btree (organization_id, lower((email)::text));
CREATE INDEX invitations_grant_idx ON invitations USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX invitations_maker_idx ON invitations USING btree (organization_id, made_by);
CREATE INDEX invitations_maker_key_idx ON invitations USING btree (maker_key_id) WHERE (maker_key_id IS NOT NULL);

CREATE TABLE issuer_identities (
  issuer varchar(512) NOT NULL,
  subject varchar(255) NOT NULL,
  user_id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT issuer_identities_pkey PRIMARY KEY (issuer, subject),
  CONSTRAINT issuer_identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX issuer_identities_user_idx ON issuer_identities USING btree (user_id);

CREATE TABLE mail_counts (
  key varchar(255) NOT NULL,
  points integer NOT NULL DEFAULT 0,
  expire bigint,
  CONSTRAINT mail_counts_pkey PRIMARY KEY (key)
);
CREATE INDEX mail_counts_expire_idx ON mail_counts USING btree (expire);

CREATE TABLE mcp_tasks (
  connection_id uuid NOT NULL,
  owner text NOT NULL,
  digest varchar(64) NOT NULL,
  tool_name text NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT mcp_tasks_pkey PRIMARY KEY (connection_id, owner, digest),
  CONSTRAINT mcp_tasks_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE
);
CREATE INDEX mcp_tasks_expiry_idx ON mcp_tasks USING btree (expires_at);

CREATE TABLE messages (
  organization_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C" NOT NULL,
  id varchar(128) COLLATE "C" NOT NULL,
  run_id uuid NOT NULL,
  run_position bigint NOT NULL,
  ordinal integer NOT NULL,
  role varchar(16) NOT NULL,
  parts json NOT NULL,
  metadata json NOT NULL DEFAULT '{}'::json,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  bytes integer,
  superseded_by uuid,
  CONSTRAINT messages_pkey PRIMARY KEY (organization_id, thread_id, id),
  CONSTRAINT messages_organization_id_thread_id_fkey FOREIGN KEY (organization_id, thread_id) REFERENCES threads(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT messages_role_check CHECK (((role)::text = ANY ((ARRAY['system'::varchar, 'user'::varchar, 'assistant'::varchar])::text[])))
);
CREATE INDEX messages_thread_idx ON messages USING btree (organization_id, thread_id, run_position, ordinal);
CREATE INDEX messages_words_idx ON messages USING gin (message_words(organization_id, (role)::text, parts, metadata));
CREATE TRIGGER messages_measure BEFORE INSERT OR UPDATE OF parts, metadata ON messages FOR EACH ROW EXECUTE FUNCTION message_measure();
CREATE TRIGGER messages_name_files AFTER INSERT ON messages FOR EACH ROW WHEN (((new.parts)::text ~~ '%file"%'::text)) EXECUTE FUNCTION message_name_files();

CREATE TABLE message_files (
  organization_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C" NOT NULL,
  message_id varchar(128) COLLATE "C" NOT NULL,
  file_id uuid NOT NULL,
  CONSTRAINT message_files_pkey PRIMARY KEY (organization_id, thread_id, message_id, file_id),
  CONSTRAINT message_files_organization_id_file_id_fkey FOREIGN KEY (organization_id, file_id) REFERENCES files(organization_id, id),
  CONSTRAINT message_files_organization_id_thread_id_message_id_fkey FOREIGN KEY (organization_id, thread_id, message_id) REFERENCES messages(organization_id, thread_id, id) ON DELETE CASCADE
);
CREATE INDEX message_files_file_idx ON message_files USING btree (file_id);

CREATE TABLE model_recordings (
  id uuid NOT NULL,
  run_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  attempt integer NOT NULL,
  ordinal integer NOT NULL,
  content text STORAGE EXTERNAL NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT model_recordings_pkey PRIMARY KEY (id),
  CONSTRAINT model_recordings_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX model_recordings_call_idx ON model_recordings USING btree (run_id, attempt, ordinal);
CREATE INDEX model_recordings_created_idx ON model_recordings USING btree (organization_id, created_at);

CREATE TABLE model_tiers (
  organization_id uuid NOT NULL,
  tier varchar(16) NOT NULL,
  provider_id uuid NOT NULL,
  model varchar(256) NOT NULL,
  price jsonb,
  "position" smallint NOT NULL DEFAULT 0,
  max_output_tokens integer,
  first_chunk_timeout_s integer,
  CONSTRAINT model_tiers_pkey PRIMARY KEY (organization_id, tier, "position"),
  CONSTRAINT model_tiers_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT model_tiers_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES ai_providers(id) ON DELETE CASCADE,
  CONSTRAINT model_tiers_tier_check CHECK (((tier)::text = ANY ((ARRAY['fast'::varchar, 'smart'::varchar, 'thinking'::varchar])::text[])))
);
CREATE INDEX model_tiers_provider_idx ON model_tiers USING btree (provider_id);

CREATE TABLE oauth_clients (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  client_id varchar(64) NOT NULL,
  name varchar(128) NOT NULL,
  redirect_uris jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  grant_types jsonb NOT NULL DEFAULT '["authorization_code", "refresh_token"]'::jsonb,
  auth varchar(8) NOT NULL DEFAULT 'none'::varchar,
  api_key_id uuid,
  CONSTRAINT oauth_clients_pkey PRIMARY KEY (id),
  CONSTRAINT oauth_clients_client_id_key UNIQUE (client_id),
  CONSTRAINT oauth_clients_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id) ON DELETE CASCADE,
  CONSTRAINT oauth_clients_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX oauth_clients_key_idx ON oauth_clients USING btree (api_key_id) WHERE (api_key_id IS NOT NULL);
CREATE INDEX oauth_clients_organization_idx ON oauth_clients USING btree (organization_id, created_at);

CREATE TABLE oauth_records (
  id uuid NOT NULL,
  model varchar(32) NOT NULL,
  payload text NOT NULL,
  grant_id uuid,
  uid_id uuid,
  client_id varchar(2048),
  source varchar(64),
  scope varchar(256),
  expires_at timestamptz(3),
  consumed_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  resource varchar(2048),
  CONSTRAINT oauth_records_pkey PRIMARY KEY (id)
);
CREATE INDEX oauth_records_expiry_idx ON oauth_records USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX oauth_records_grant_idx ON oauth_records USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX oauth_records_source_idx ON oauth_records USING btree (source, created_at) WHERE (source IS NOT NULL);
CREATE INDEX oauth_records_uid_idx ON oauth_records USING btree (uid_id) WHERE (uid_id IS NOT NULL);

CREATE TABLE oauth_signing_keys (
  id uuid NOT NULL,
  jwk text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT oauth_signing_keys_pkey PRIMARY KEY (id)
);

CREATE TABLE password_links (
  token_hash char(64) NOT NULL,
  organization_id uuid,
  user_id uuid,
  is_mailed boolean NOT NULL DEFAULT false,
  expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  made_by uuid,
  maker_key_id uuid,
  grant_id uuid,
  CONSTRAINT password_links_pkey PRIMARY KEY (token_hash),
  CONSTRAINT password_links_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES oauth_grants(id) ON DELETE CASCADE,
  CONSTRAINT password_links_maker_key_id_fkey FOREIGN KEY (maker_key_id) REFERENCES api_keys(id) ON DELETE CASCADE,
  CONSTRAINT password_links_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT password_links_organization_id_made_by_fkey FOREIGN KEY (organization_id, made_by) REFERENCES members(organization_id, user_id) ON DELETE CASCADE,
  CONSTRAINT password_links_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES members(organization_id, user_id) ON DELETE CASCADE,
  CONSTRAINT password_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX password_links_grant_idx ON password_links USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX password_links_maker_idx ON password_links USING btree (organization_id, made_by);
CREATE INDEX password_links_maker_key_idx ON password_links USING btree (maker_key_id) WHERE (maker_key_id IS NOT NULL);
CREATE INDEX password_links_member_idx ON password_links USING btree (organization_id, user_id);
CREATE INDEX password_links_user_idx ON password_links USING btree (user_id);

CREATE TABLE pinned_tools (
  connection_id uuid NOT NULL,
  fingerprint varchar(64) NOT NULL,
  organization_id uuid NOT NULL,
  nameless_fingerprint varchar(64) NOT NULL,
  tool_name text NOT NULL,
  definition json NOT NULL,
  size integer NOT NULL,
  is_listed boolean NOT NULL,
  listed_at timestamptz(3) NOT NULL DEFAULT now(),
  approved_at timestamptz(3),
  CONSTRAINT pinned_tools_pkey PRIMARY KEY (connection_id, fingerprint),
  CONSTRAINT pinned_tools_organization_id_connection_id_fkey FOREIGN KEY (organization_id, connection_id) REFERENCES connections(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT pinned_tools_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE TRIGGER pinned_tools_webhooks AFTER INSERT ON pinned_tools REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION webhook_tools_changed();

CREATE UNLOGGED TABLE rate_limits (
  key varchar(255) NOT NULL,
  points integer NOT NULL DEFAULT 0,
  expire bigint,
  CONSTRAINT rate_limits_pkey PRIMARY KEY (key)
);
CREATE INDEX rate_limits_expire_idx ON rate_limits USING btree (expire);

CREATE TABLE roles (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  name varchar(64) NOT NULL,
  permissions jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT roles_pkey PRIMARY KEY (id),
  CONSTRAINT roles_organization_id_name_key UNIQUE (organization_id, name),
  CONSTRAINT roles_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE run_approvals (
  id uuid NOT NULL,
  run_id uuid NOT NULL,
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
  target_definition char(64),
  CONSTRAINT run_approvals_pkey PRIMARY KEY (id),
  CONSTRAINT run_approvals_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX run_approvals_call_idx ON run_approvals USING btree (run_id, tool_call_id);
CREATE INDEX run_approvals_expires_idx ON run_approvals USING btree (expires_at) WHERE (closed_at IS NULL);
CREATE TRIGGER run_approvals_webhooks AFTER INSERT ON run_approvals FOR EACH ROW EXECUTE FUNCTION webhook_approval_requested();

CREATE TABLE run_event_batches (
  run_id uuid NOT NULL,
  first_n integer NOT NULL,
  last_n integer NOT NULL,
  frames text STORAGE EXTERNAL NOT NULL,
  epoch text NOT NULL,
  CONSTRAINT run_event_batches_pkey PRIMARY KEY (run_id, last_n),
  CONSTRAINT run_event_batches_check CHECK ((((last_n - first_n) >= 0) AND ((last_n - first_n) <= 255)))
) WITH (autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE run_event_streams (
  run_id uuid NOT NULL,
  fence integer NOT NULL,
  next_n integer NOT NULL,
  ended boolean NOT NULL DEFAULT false,
  expires_at timestamptz NOT NULL,
  epoch text NOT NULL,
  CONSTRAINT run_event_streams_pkey PRIMARY KEY (run_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.05);

CREATE TABLE run_steers (
  id uuid NOT NULL,
  run_id uuid NOT NULL,
  number integer NOT NULL,
  organization_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C" NOT NULL,
  user_id uuid,
  api_key_id uuid,
  grant_id uuid,
  request_id varchar(128) NOT NULL,
  tier varchar(16) NOT NULL,
  interrupts boolean NOT NULL,
  traceparent varchar(256),
  tracestate varchar(512),
  idempotency_key varchar(255),
  idempotency_hash char(64),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT run_steers_pkey PRIMARY KEY (id),
  CONSTRAINT run_steers_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX run_steers_idempotency_idx ON run_steers USING btree (organization_id, thread_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE UNIQUE INDEX run_steers_number_idx ON run_steers USING btree (run_id, number);

CREATE TABLE schedules (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  title varchar(256) NOT NULL,
  virtual_mcp_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C",
  cron varchar(256) NOT NULL,
  timezone varchar(64) NOT NULL,
  message text NOT NULL,
  tier varchar(16),
  overlap varchar(16) NOT NULL,
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
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT schedules_pkey PRIMARY KEY (id),
  CONSTRAINT schedules_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT schedules_overlap_check CHECK (((overlap)::text = ANY ((ARRAY['skip'::varchar, 'queue'::varchar])::text[])))
);
CREATE INDEX schedules_due_idx ON schedules USING btree (next_run_at) WHERE enabled;
CREATE INDEX schedules_organization_idx ON schedules USING btree (organization_id, created_at);

CREATE TABLE spend_windows (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  organization_id uuid NOT NULL,
  scope varchar(16) NOT NULL,
  subject_id uuid NOT NULL,
  period varchar(8) NOT NULL,
  starts_at timestamptz(3) NOT NULL,
  used numeric NOT NULL,
  reserved numeric NOT NULL DEFAULT 0,
  is_warned boolean NOT NULL DEFAULT false,
  is_reached boolean NOT NULL DEFAULT false,
  CONSTRAINT spend_windows_pkey PRIMARY KEY (id),
  CONSTRAINT spend_windows_organization_id_scope_subject_id_period_start_key UNIQUE (organization_id, scope, subject_id, period, starts_at),
  CONSTRAINT spend_windows_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT spend_windows_period_check CHECK (((period)::text = ANY ((ARRAY['day'::varchar, 'month'::varchar])::text[]))),
  CONSTRAINT spend_windows_scope_check CHECK (((scope)::text = ANY ((ARRAY['organization'::varchar, 'agent'::varchar, 'key'::varchar, 'person'::varchar])::text[])))
);
CREATE INDEX spend_windows_starts_idx ON spend_windows USING btree (starts_at);

CREATE TABLE thread_tokens (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  thread_id varchar(128) COLLATE "C" NOT NULL,
  token_hash char(64) NOT NULL,
  permissions jsonb NOT NULL,
  maker_kind varchar(16) NOT NULL,
  maker_id varchar(512) NOT NULL,
  caller_id varchar(2304) NOT NULL,
  user_id uuid,
  api_key_id uuid,
  grant_id uuid,
  client_id varchar(2048),
  resource varchar(2048),
  scopes jsonb,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT thread_tokens_pkey PRIMARY KEY (id),
  CONSTRAINT thread_tokens_token_hash_key UNIQUE (token_hash),
  CONSTRAINT thread_tokens_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id) ON DELETE CASCADE,
  CONSTRAINT thread_tokens_organization_id_thread_id_fkey FOREIGN KEY (organization_id, thread_id) REFERENCES threads(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT thread_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX thread_tokens_expires_idx ON thread_tokens USING btree (expires_at);
CREATE INDEX thread_tokens_key_idx ON thread_tokens USING btree (api_key_id);
CREATE INDEX thread_tokens_thread_idx ON thread_tokens USING btree (organization_id, thread_id);
CREATE INDEX thread_tokens_user_idx ON thread_tokens USING btree (user_id);

CREATE TABLE upstream_authorizations (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
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
  id_token_id uuid,
  CONSTRAINT upstream_authorizations_pkey PRIMARY KEY (id),
  CONSTRAINT upstream_authorizations_connection_id_user_id_key UNIQUE NULLS NOT DISTINCT (connection_id, user_id),
  CONSTRAINT upstream_authorizations_id_token_id_fkey FOREIGN KEY (id_token_id) REFERENCES id_tokens(id) ON DELETE CASCADE,
  CONSTRAINT upstream_authorizations_organization_id_connection_id_fkey FOREIGN KEY (organization_id, connection_id) REFERENCES connections(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT upstream_authorizations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT upstream_authorizations_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES members(organization_id, user_id) ON DELETE CASCADE
);
CREATE INDEX upstream_authorizations_id_token_idx ON upstream_authorizations USING btree (id_token_id) WHERE (id_token_id IS NOT NULL);
CREATE INDEX upstream_authorizations_member_idx ON upstream_authorizations USING btree (organization_id, user_id);

CREATE TABLE upstream_clients (
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  issuer varchar(2048) NOT NULL,
  redirect_uri varchar(2048) NOT NULL,
  client text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT upstream_clients_pkey PRIMARY KEY (id),
  CONSTRAINT upstream_clients_connection_id_issuer_redirect_uri_key UNIQUE (connection_id, issuer, redirect_uri),
  CONSTRAINT upstream_clients_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE
);

CREATE TABLE upstream_log_ins (
  id uuid NOT NULL,
  state_hash char(64) NOT NULL,
  session_hash char(64) NOT NULL,
  connection_id uuid NOT NULL,
  user_id uuid NOT NULL,
  details text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT upstream_log_ins_pkey PRIMARY KEY (id),
  CONSTRAINT upstream_log_ins_state_hash_key UNIQUE (state_hash),
  CONSTRAINT upstream_log_ins_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE,
  CONSTRAINT upstream_log_ins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX upstream_log_ins_connection_idx ON upstream_log_ins USING btree (connection_id);
CREATE INDEX upstream_log_ins_expires_idx ON upstream_log_ins USING btree (expires_at);

CREATE TABLE used_sign_ins (
  id uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT used_sign_ins_pkey PRIMARY KEY (id)
);
CREATE INDEX used_sign_ins_expiry_idx ON used_sign_ins USING btree (expires_at);

CREATE TABLE webhooks (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  url varchar(2048) NOT NULL,
  events jsonb NOT NULL,
  agent_ids jsonb,
  enabled boolean NOT NULL DEFAULT true,
  disabled_reason varchar(256),
  secret text NOT NULL,
  previous_secret text,
  previous_secret_until timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT webhooks_pkey PRIMARY KEY (id),
  CONSTRAINT webhooks_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX webhooks_organization_idx ON webhooks USING btree (organization_id, created_at);

CREATE TABLE webhook_deliveries (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event varchar(32) NOT NULL,
  run_id uuid,
  body text NOT NULL,
  status varchar(16) NOT NULL DEFAULT 'pending'::varchar,
  attempts integer NOT NULL DEFAULT 0,
  last_status integer,
  last_error varchar(512),
  next_try_at timestamptz(3),
  claim_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE,
  CONSTRAINT webhook_deliveries_status_check CHECK (((status)::text = ANY ((ARRAY['pending'::varchar, 'delivered'::varchar, 'failed'::varchar])::text[])))
);
CREATE INDEX webhook_deliveries_created_idx ON webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries USING btree (webhook_id, next_try_at) WHERE ((status)::text = 'pending'::text);
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries USING btree (organization_id, created_at);
CREATE INDEX webhook_deliveries_webhook_idx ON webhook_deliveries USING btree (webhook_id);

CREATE VIEW organization_people AS
 SELECT m.id,
    m.organization_id,
    m.user_id,
    COALESCE(u.email, ''::varchar) AS email,
    u.name,
    m.role,
    'active'::varchar AS status,
    m.created_at,
    m.spend
   FROM (members m
     JOIN users u ON ((u.id = m.user_id)))
UNION ALL
 SELECT i.id,
    i.organization_id,
    NULL::uuid AS user_id,
    i.email,
    NULL::varchar AS name,
    i.role,
    'invited'::varchar AS status,
    i.created_at,
    NULL::jsonb AS spend
   FROM invitations i
  WHERE (i.expires_at > now());

CREATE VIEW spend_limits AS
 SELECT limited.organization_id,
    limited.scope,
    limited.subject_id,
    limited.user_id,
    periods.period,
    ((limited.spend ->> ('usd_per_'::text || periods.period)))::numeric AS usd
   FROM (( SELECT organizations.id AS organization_id,
            'organization'::text AS scope,
            organizations.id AS subject_id,
            NULL::uuid AS user_id,
            (organizations.limits -> 'spend'::text) AS spend
           FROM organizations
          WHERE (organizations.limits ? 'spend'::text)
        UNION ALL
         SELECT agents.organization_id,
            'agent'::text,
            agents.id,
            NULL::uuid,
            agents.spend
           FROM agents
          WHERE (agents.spend IS NOT NULL)
        UNION ALL
         SELECT api_keys.organization_id,
            'key'::text,
            api_keys.id,
            NULL::uuid,
            api_keys.spend
           FROM api_keys
          WHERE (api_keys.spend IS NOT NULL)
        UNION ALL
         SELECT members.organization_id,
            'person'::text,
            members.id,
            members.user_id,
            members.spend
           FROM members
          WHERE (members.spend IS NOT NULL)) limited
     CROSS JOIN ( VALUES ('day'::text), ('month'::text)) periods(period))
  WHERE (limited.spend ? ('usd_per_'::text || periods.period));

-- api_key_line(_key uuid, OUT length integer, OUT limits json) RETURNS record: b470de23de5f1da6a0259c5709b16ea7
-- connection_status_since() RETURNS trigger: 0180664305c242dcb37805cd1322f202
-- connection_tool_count() RETURNS trigger: 1b4d747b71d6791ff07d587033302758
-- json_octets(value jsonb) RETURNS integer: dd08a26ceba516f8b7595e248976fc0b
-- keep_name() RETURNS trigger: f96b9d87613a34e910bb4930b482f1bb
-- message_measure() RETURNS trigger: 948eb6d5fb239bf65ebbd1b58e6159ed
-- message_name_files() RETURNS trigger: 5d4e5fc8a31a093b4e2b6c4841c041da
-- message_tools(_parts json) RETURNS text[]: d889647f332384bc05540d90d598ddcf
-- message_words(_organization uuid, _role text, _parts json, _metadata json) RETURNS tsvector: 597facac61e462cfdbd1d1adb0347397
-- run_concurrency_limit(_organization uuid, _cap integer) RETURNS integer: 0eb8b61dbee586cbfc6f862c17979ff9
-- run_event_append(_channel text, _run uuid, _fence integer, _epoch text, _first integer, _count integer, _frames text, _end boolean, _ttl_ms double precision) RETURNS boolean: dc2bdcec3f62425207fbf15930a0dd9a
-- run_event_open(_run uuid, _fence integer, _epoch text, _ttl_ms double precision) RETURNS SETOF integer: 0d803fc943bcfd23f8a377819ada54a0
-- run_event_start(_channel text, _run uuid, _fence integer, _epoch text, _count integer, _frames text, _end boolean, _ttl_ms double precision, _follows text) RETURNS boolean: bdb5fdec792fe2d99123032f0537a715
-- run_find_repeated(_organization uuid, _thread text, _key text, _key_hours integer) RETURNS TABLE(id uuid, run_id uuid, hash text, steered boolean): 8ccf5de9cf51feaa583e49073c3f487f
-- run_finish(_run uuid, _attempt integer, _epoch text, _status text, _thread_status text, _error jsonb, _finish_reason text, _step integer, _usage jsonb, _model text, _parts json, _metadata json, _ordinal integer, _cost double precision, _model_calls json) RETURNS TABLE(organization uuid, thread text, answer text, last_attempt integer, next_run uuid, next_attempt integer, next_status text): d2f6f9998a545307d27af91e56b488bc
-- run_has_room(_organization uuid, _cap integer) RETURNS boolean: 575ccacda76a896557d959bcc8dade20
-- run_has_waiting_room(_organization uuid, _waiting integer, _concurrent integer) RETURNS boolean: 0b4dac846a510db4368f19a47369e239
-- run_post_and_start(_organization uuid, _thread text, _agent uuid, _user uuid, _api_key uuid, _grant uuid, _request text, _tier text, _temperature double precision, _messages json, _answer text, _key text, _hash text, _key_hours integer, _max_waiting integer, _room_waiting integer, _room_concurrent integer, _traceparent text, _tracestate text, _epoch text, _cap integer, _default_tier text, _input_tokens integer, _output_tokens integer, INOUT _run uuid, _follows uuid DEFAULT NULL::uuid, _metadata jsonb DEFAULT NULL::jsonb, OUT _outcome text, OUT _is_head boolean, OUT _started runs, OUT _previous uuid, OUT _is_limited boolean, OUT _has_spend_limit boolean, OUT _refusal jsonb) RETURNS record: 89df914cc084ce834bfa1291b17f8199
-- run_post_steers(_ended runs) RETURNS void: 55dce6464be002306e6a49552b4d6aa9
-- run_regenerate(_organization uuid, _thread text, _message text, _agent uuid, _user uuid, _api_key uuid, _grant uuid, _request text, _default_tier text, _answer text, _key text, _hash text, _key_hours integer, _room_waiting integer, _room_concurrent integer, _traceparent text, _tracestate text, _output_tokens integer, INOUT _run uuid, OUT _outcome text, OUT _refusal jsonb) RETURNS record: f7e68fb45d9b24692da6393ad1ace419
-- run_steer(_organization uuid, _thread text, _agent uuid, _user uuid, _api_key uuid, _grant uuid, _request text, _default_tier text, _messages json, _interrupts boolean, _key text, _hash text, _key_hours integer, _max_waiting integer, _max_bytes integer, _traceparent text, _tracestate text, INOUT _steer uuid, OUT _outcome text, OUT _run uuid, OUT _steered boolean) RETURNS record: d9d55c0f922cd2e02a4a150d8d5cc64c
-- run_steer_ordinal(_number integer) RETURNS integer: 9b9fe9c7c5a62dfcb22e114fd57d7e49
-- run_wait(_run uuid, _attempt integer, _epoch text) RETURNS boolean: c05381b7a8b3d5be3b3458fb7abb8003
-- search_words(_organization uuid, _text text) RETURNS tsquery: 099d78b28a5c89160604999bca47a056
-- spend_before(_organization uuid, _scope text, _subject uuid, _since timestamptz) RETURNS numeric: 4b0fecbcef2929f97de87b8278a4d7a3
-- spend_first_call(_organization uuid, _agent uuid, _api_key uuid, _user uuid, _tier text, _input_tokens integer, _output_tokens integer, OUT _reservation jsonb, OUT _refusal jsonb) RETURNS record: 41c6fbe223656a02983103471719da21
-- spend_limit_changed() RETURNS trigger: f57e3ffa3bd3c9362219c4a0e3c50d87
-- spend_limits_of(_organization uuid, _agent uuid, _api_key uuid, _user uuid) RETURNS TABLE(scope text, subject_id uuid, period text, usd numeric): e5c59c200cbeeabaabd10dcf7d7b3279
-- spend_reserve(_run uuid, _attempt integer, _epoch text, _call uuid, _amount numeric, OUT _outcome text, OUT _refusal jsonb) RETURNS record: 873575124cafef7924852956eedd2155
-- spend_run_ended() RETURNS trigger: 1b3fc19f00378f049407a2024fb3e90d
-- spend_settle(_reservation jsonb, _cost numeric) RETURNS void: 49c537b94c77a2661e56795085150805
-- spend_settle_call(_run uuid, _call uuid, _cost numeric) RETURNS void: 04a3904c247c80018f49f905e908c00c
-- spend_take(_organization uuid, _agent uuid, _api_key uuid, _user uuid, _amount numeric, OUT _windows bigint[], OUT _refusal jsonb) RETURNS record: e0146d9e580457154ffbab1596be9455
-- spend_unpriced(_organization uuid) RETURNS TABLE(tier text, path text): 570a7d8014c8557e008b0b422d4af5ff
-- spend_window(_organization uuid, _scope text, _subject uuid, _period text) RETURNS spend_windows: 5c5cc36187774573a4096a431ed4fcf5
-- spend_window_end(_period text, _starts timestamptz) RETURNS timestamptz: 505d52938a63d678a586bc99195f0e63
-- spend_window_start(_period text) RETURNS timestamptz: 992ac00e1a2779c01fd16c6d45f5e3fb
-- text_words(_organization uuid, _text text) RETURNS tsvector: f319564510c48fb4fdc9684bb4d1ae41
-- webhook_approval_requested() RETURNS trigger: 95c7bc20e20686b6633d79e111df033e
-- webhook_deliver(_event text, _organization uuid, _agent uuid, _run uuid, _data json, _output json DEFAULT NULL::json) RETURNS void: 63c29a5b0a5019ee1c9f2e7a11d58756
-- webhook_record(_event text, _run runs, _approval uuid DEFAULT NULL::uuid) RETURNS void: c287f00802c834ccaec115a6c7f77427
-- webhook_run_ended() RETURNS trigger: b55670a35e1eb9e257dd9c696e051201
-- webhook_spend_threshold(_window spend_windows, _usd numeric, _reached boolean) RETURNS void: 46c03f32931d0554df6e9665002c20e8
-- webhook_time(_at timestamptz) RETURNS text: 5379414f70019f1798e50cab13d0a3c6
-- webhook_tools_changed() RETURNS trigger: 79fc845795b990bf363436366ac44f21
