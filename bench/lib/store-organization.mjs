const DAYS = 30;
const RUNS_PER_THREAD = 2;
const RECORDS_PER_STATEMENT = 200_000;

/** What the organization holds. Threads have two runs each, with a question and an answer. */
export const SIZES = { threads: 100_000, records: 1_000_000, connections: 500, agents: 50, keys: 200, events: 10_000 };

/**
 * Fills the organization of a service that has answered a run: connections with 20 tools each, agents that use ten of
 * them, keys, threads with runs and messages, the record of calls (two fifths of them of management tools), and the
 * record of events, spread over 30 days. Ends with the statistics and the visibility map that autovacuum would make.
 * @param {import('pg').Client} client
 * @param {typeof SIZES} sizes
 */
export async function storeOrganization(client, sizes = SIZES) {
  const template = await findTemplate(client);
  await storeConnections(client, template, sizes);
  await storeKeys(client, sizes);
  await storeThreads(client, template, sizes);
  await storeRecords(client, template, sizes);
  await client.query('VACUUM ANALYZE');
}

/** Stores as many copies of the newest completed run, with their messages and threads. */
export async function storeRuns(client, count) {
  await storeThreads(client, await findTemplate(client), { threads: Math.ceil(count / RUNS_PER_THREAD) });
  await client.query('VACUUM ANALYZE');
}

async function findTemplate(client) {
  const { rows } = await client.query(
    `SELECT id, thread_id, agent_id, organization_id FROM runs WHERE status = 'completed' ORDER BY position DESC
       LIMIT 1`,
  );
  return rows[0];
}

async function storeConnections(client, { organization_id: organization, agent_id: agent }, { connections, agents }) {
  await client.query(
    `INSERT INTO connections (id, organization_id, connection_type, title, description, connection_url, status,
                              status_reason, tools, tools_refreshed_at, created_at)
     SELECT gen_random_uuid(), $1, 'HTTP', 'Server ' || n, 'The tools of team ' || n % 20,
            'https://server-' || n || '.example/mcp',
            CASE WHEN n % 50 = 0 THEN 'error' ELSE 'active' END, CASE
              WHEN n % 50 = 0 THEN 'The server does not answer.' END,
            tools, now(), now() - n * interval '1 hour'
       FROM generate_series(1, $2::int) n,
            (SELECT json_agg(json_build_object('name', 'tool-' || t, 'description', repeat('What the tool does. ', 10),
                                               'inputSchema', json_build_object('type', 'object'))) AS tools
               FROM generate_series(1, 20) t) listed`,
    [organization, connections],
  );
  const title = { id: 'gen_random_uuid()', title: `'Agent ' || n`, created_at: `now() - n * interval '1 hour'` };
  await client.query(
    `INSERT INTO connections ${await copyOf(client, 'connections', title)}
       FROM connections template, generate_series(1, $2::int) n WHERE template.id = $1`,
    [agent, agents],
  );
  await client.query(
    `INSERT INTO agents ${await copyOf(client, 'agents', { id: 'made.id' })}
       FROM agents template, connections made WHERE template.id = $1 AND made.title LIKE 'Agent %'
         AND made.connection_type = 'VIRTUAL'`,
    [agent],
  );
  await client.query(
    `INSERT INTO agent_connections (agent_id, connection_id, position)
     SELECT agents.id, used.id, used.position
       FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM agents) agents,
            LATERAL (SELECT id, row_number() OVER () AS position
                       FROM connections WHERE connection_type = 'HTTP'
                         AND substr(title, 8)::int % ${agents} = agents.number % ${agents}
                       LIMIT 10) used`,
  );
}

async function storeKeys(client, { keys }) {
  const changed = {
    id: 'gen_random_uuid()',
    name: `'Integration ' || n`,
    key_hash: `md5('a' || n) || md5('b' || n)`,
    created_at: `now() - n * interval '1 hour'`,
  };
  await client.query(
    `INSERT INTO api_keys ${await copyOf(client, 'api_keys', changed)}
       FROM (SELECT * FROM api_keys ORDER BY created_at LIMIT 1) template, generate_series(1, $1::int) n`,
    [keys],
  );
}

async function storeThreads(client, { id, thread_id: thread }, { threads }) {
  const agent = `agents[1 + n % cardinality(agents)]`;
  const agents = `(SELECT array_agg(id) AS agents FROM agents) agents`;
  const runs = threads * RUNS_PER_THREAD;
  const threadAt = `now() - n * interval '${DAYS} days' / ${threads}`;
  await client.query(
    `INSERT INTO threads ${await copyOf(client, 'threads', {
      id: `'ticket-' || n`,
      title: `'Ticket ' || n || CASE WHEN n % 100 = 0 THEN ' about an invoice' ELSE ' about a delivery' END`,
      virtual_mcp_id: agent,
      status: `CASE WHEN n % 25 = 0 THEN 'failed' ELSE 'completed' END`,
      metadata: `jsonb_build_object('customer', 'customer-' || n % 1000)`,
      created_at: threadAt,
      updated_at: threadAt,
    })} FROM threads template, ${agents}, generate_series($2::int, 1, -1) n WHERE template.id = $1`,
    [thread, threads],
  );
  const runAt = `now() - n * interval '${DAYS} days' / ${runs}`;
  const { rows } = await client.query(
    `WITH stored AS (
       INSERT INTO runs ${await copyOf(client, 'runs', {
         id: 'gen_random_uuid()',
         thread_id: `'ticket-' || 1 + n % ${threads}`,
         agent_id: agent,
         status: `CASE WHEN n % 25 = 0 THEN 'failed' WHEN n % 100 = 1 THEN 'cancelled' ELSE 'completed' END`,
         error: `CASE WHEN n % 25 = 0 THEN '{"code":"model_failed","message":"The model did not answer."}'::jsonb END`,
         message_id: `'answer-' || n`,
         started_at: runAt,
         finished_at: `${runAt} + n % 5000 * interval '1 ms'`,
         created_at: runAt,
         updated_at: runAt,
       })} FROM runs template, ${agents}, generate_series($2::int, 1, -1) n WHERE template.id = $1
       RETURNING position
     ) SELECT min(position) AS first FROM stored`,
    [id, runs],
  );
  const message = {
    id: `CASE template.role WHEN 'user' THEN 'question-' || run.position ELSE run.message_id END`,
    thread_id: 'run.thread_id',
    run_id: 'run.id',
    run_position: 'run.position',
    created_at: 'run.created_at',
  };
  await client.query(
    `INSERT INTO messages ${await copyOf(client, 'messages', message)} FROM messages template, runs run
      WHERE template.run_id = $1 AND run.position >= $2`,
    [id, rows[0].first],
  );
}

async function storeRecords(client, { organization_id: organization }, { records, events }) {
  const { rows } = await client.query(`
    SELECT (SELECT array_agg(id ORDER BY title) FROM connections WHERE connection_type = 'HTTP') AS connections,
           (SELECT array_agg(id) FROM agents) AS agents, (SELECT array_agg(id) FROM api_keys) AS keys,
           (SELECT array_agg(user_id) FROM members) AS people`);
  const [{ connections, agents, keys, people }] = rows;
  const known = [organization, connections, agents, keys, people];
  for (let last = records; last > 0; last -= RECORDS_PER_STATEMENT) {
    // From the oldest to the newest, as the service writes them. Few connections get most of the calls.
    await client.query(
      `INSERT INTO audit_records (organization_id, at, id, door, connection_id, agent_id, tool_name, status, error_code,
                                  duration_ms, user_id, api_key_id, request_id, public)
       SELECT $1::uuid, now() - n * interval '${DAYS} days' / ${records}, gen_random_uuid(),
              CASE WHEN n % 5 < 2 THEN 'api' WHEN n % 5 < 4 THEN 'run' ELSE 'proxy' END,
              CASE WHEN n % 5 >= 2 THEN ($2::uuid[])[1 + floor(power(random(), 3) * cardinality($2::uuid[]))] END,
              CASE WHEN n % 5 IN (2, 3) THEN ($3::uuid[])[1 + n % cardinality($3::uuid[])] END,
              CASE WHEN n % 5 < 2 THEN (ARRAY['COLLECTION_THREADS_GET', 'COLLECTION_THREADS_CREATE', 'RUN_GET'])[1 + n %
                3]
                   ELSE 'tool-' || 1 + n / 5 % 20 END,
              outcome, CASE outcome WHEN 'error' THEN 'tool_error' WHEN 'denied' THEN 'permission_denied' END,
              round((-100 * ln(1 - random()))::numeric, 3), ($5::uuid[])[1],
              CASE WHEN n % 3 > 0 THEN ($4::uuid[])[1 + n % cardinality($4::uuid[])] END, 'request-' || n, false
         FROM generate_series($6::int, $7::int, -1) n,
              LATERAL (SELECT CASE WHEN n / 7 % 20 = 7 THEN 'error' WHEN n / 7 % 100 = 11 THEN 'denied'
                ELSE 'success' END AS outcome) made`,
      [...known, last, Math.max(1, last - RECORDS_PER_STATEMENT + 1)],
    );
  }
  await client.query(
    `INSERT INTO audit_events (organization_id, at, id, event, user_id, target_type, target_id, target_name, changes)
     SELECT $1, now() - n * interval '${DAYS} days' / $2::int, gen_random_uuid(), 'connection.updated', $3::uuid,
            'connection', gen_random_uuid(), 'Server ' || n % 500, '{}'
       FROM generate_series($2::int, 1, -1) n`,
    [organization, events, people[0]],
  );
}

/**
 * The columns of an INSERT and its SELECT list, for copies of one row (`template`).
 * @param {import('pg').Client} client
 * @param {string} table
 * @param {Readonly<Record<string, string>>} changed SQL of the columns that differ from the template's
 */
async function copyOf(client, table, changed) {
  const { rows } = await client.query(
    `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'NO' AND is_generated = 'NEVER'`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  return `(${names.join(', ')}) SELECT ${names.map((name) => changed[name] ?? `template.${name}`).join(', ')}`;
}
