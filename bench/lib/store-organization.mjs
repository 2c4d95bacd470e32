import { copyOf } from './copy-rows.mjs';

const DAYS = 30;
const RUNS_PER_THREAD = 2;
const RECORDS_PER_STATEMENT = 200_000;

const TOOLS = 10;

/** What the organization holds. Threads have two runs each, with a question and an answer. */
export const SIZES = {
  threads: 100_000,
  records: 1_000_000,
  connections: 500,
  agents: 50,
  keys: 200,
  events: 10_000,
  longRun: { steps: 100, callsPerStep: 19 },
};

/**
 * Fills the organization of a service that has answered a run: connections with ten tools each, agents that use ten of
 * them, keys, threads with runs and messages, the record of calls (two fifths of them of management tools), and the
 * record of events, spread over 30 days; and a run with as many steps and calls as runs can have. Ends with the
 * statistics and the visibility map that autovacuum would make.
 * @param {import('pg').Client} client
 * @param {typeof SIZES} sizes
 * @returns the id of the long run
 */
export async function storeOrganization(client, sizes = SIZES) {
  const template = await findTemplate(client);
  await storeConnections(client, template, sizes);
  await storeKeys(client, sizes);
  await storeThreads(client, template, sizes);
  await storeRecords(client, template, sizes);
  const longRun = await storeLongRun(client, template, sizes.longRun);
  await client.query('VACUUM ANALYZE');
  return longRun;
}

/** Stores connections with ten tools each, and agents that use ten of them, next to those that the organization has. */
export async function storeConnectionsAndAgents(client, { connections, agents }) {
  await storeConnections(client, await findTemplate(client), { connections, agents });
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
               FROM generate_series(1, ${TOOLS}) t) listed`,
    [organization, connections],
  );
  const title = { id: 'gen_random_uuid()', title: `'Agent ' || n`, created_at: `now() - n * interval '1 hour'` };
  await client.query(
    `INSERT INTO connections ${await copyOf(client, 'connections', title)}
       FROM connections template, generate_series(1, $2::int) n WHERE template.id = $1`,
    [agent, agents],
  );
  await client.query(
    `INSERT INTO agents ${await copyOf(client, 'agents', { id: 'made.id', slug: `lower(replace(made.title, ' ', '-'))` })}
       FROM agents template, connections made WHERE template.id = $1 AND made.title LIKE 'Agent %'
         AND made.connection_type = 'VIRTUAL'`,
    [agent],
  );
  await client.query(
    `INSERT INTO agent_connections (agent_id, connection_id, position)
     SELECT made.id, used.id, place
       FROM (SELECT connections.id, connections.organization_id, row_number() OVER (ORDER BY connections.id) AS number
               FROM agents JOIN connections USING (id) WHERE title LIKE 'Agent %') made
       CROSS JOIN generate_series(1, least(10, $1::int)) place
       JOIN connections used ON used.organization_id = made.organization_id
         AND used.title = 'Server ' || 1 + (made.number * 10 + place) % $1::int`,
    [connections],
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
      tools: `ARRAY['tool-' || 1 + (n - 1) % ${TOOLS}]`,
      cost_usd: `${RUNS_PER_THREAD} * (n - 1) % 1000 * 0.0001`,
      total_tokens: `${RUNS_PER_THREAD} * 1016`,
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
         model: `'provider/model-' || n % 8`,
         usage: `'{"inputTokens":1000,"outputTokens":16,"totalTokens":1016}'::jsonb`,
         cost_usd: `n % ${threads} % 1000 * 0.0001`,
         tools: `ARRAY['tool-' || 1 + n % ${TOOLS}]`,
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
    parts: `CASE template.role WHEN 'user' THEN ${questionOf('run.thread_id')} ELSE template.parts END`,
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
                   ELSE 'tool-' || 1 + n / 5 % ${TOOLS} END,
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

/** SQL: a question about an order. A quarter of the threads has the word `refund`, all of them have `delivery`. */
function questionOf(thread) {
  return `json_build_array(json_build_object('type', 'text', 'text', 'The delivery of the ' || ${thread} || ' is late, ' ||
    CASE substr(${thread}, 8)::int % 4 WHEN 0 THEN 'please refund the payment' ELSE 'please send another one' END))`;
}

/** A run with steps of one model call and many tool calls each, on a thread of its own, right now. */
async function storeLongRun(client, { id, thread_id: thread, organization_id: organization }, { steps, callsPerStep }) {
  const stepMs = (callsPerStep + 1) * 10;
  const startedAt = `now() - ${steps * stepMs} * interval '1 ms'`;
  const answer = `(SELECT json_agg(part ORDER BY step, call) FROM (
    SELECT step, 0 AS call, '{"type":"step-start"}'::json AS part FROM generate_series(1, ${steps}) step
    UNION ALL
    SELECT step, call, json_build_object('type', 'dynamic-tool', 'toolCallId', 'call-' || step || '-' || call,
                                         'toolName', 'tool-' || 1 + call % ${TOOLS}, 'state', 'output-available',
                                         'input', json_build_object('step', step, 'call', call),
                                         'output', json_build_object('content', '[]'::json))
      FROM generate_series(1, ${steps}) step, generate_series(1, ${callsPerStep}) call) parts)`;
  await client.query(
    `INSERT INTO threads ${await copyOf(client, 'threads', { id: `'long'`, title: `'Long run'` })}
       FROM threads template WHERE template.id = $1`,
    [thread],
  );
  const run = {
    id: 'gen_random_uuid()',
    thread_id: `'long'`,
    message_id: `'long-answer'`,
    step: `${steps}`,
    model_calls: `(SELECT json_agg(json_build_array(step, 1, floor(extract(epoch FROM ${startedAt}) * 1000)
                                                      + (step - 1) * ${stepMs}, 10, 0, 1000, 0, 14, null, null, null,
                                                    'echo', 5, 0)) FROM generate_series(1, ${steps}) step)`,
    started_at: startedAt,
    finished_at: 'now()',
    created_at: startedAt,
  };
  const { rows } = await client.query(
    `INSERT INTO runs ${await copyOf(client, 'runs', run)} FROM runs template WHERE template.id = $1 RETURNING id`,
    [id],
  );
  const message = {
    id: `CASE template.role WHEN 'user' THEN 'long-question' ELSE 'long-answer' END`,
    thread_id: 'run.thread_id',
    run_id: 'run.id',
    run_position: 'run.position',
    parts: `CASE template.role WHEN 'user' THEN template.parts ELSE ${answer} END`,
  };
  await client.query(
    `INSERT INTO messages ${await copyOf(client, 'messages', message)} FROM messages template, runs run
      WHERE template.run_id = $1 AND run.id = $2`,
    [id, rows[0].id],
  );
  await client.query(
    `INSERT INTO audit_records (organization_id, at, id, door, connection_id, agent_id, tool_name, status, duration_ms,
                                user_id, api_key_id, run_id, request_id, public, arguments)
     SELECT run.organization_id,
            run.started_at + ((nth_step - 1) * ${stepMs} + call * 10) * interval '1 ms', gen_random_uuid(), 'run',
            (SELECT id FROM connections WHERE connection_type = 'HTTP' ORDER BY title LIMIT 1), run.agent_id,
            'tool-' || 1 + call % ${TOOLS}, CASE WHEN (nth_step + call) % 50 = 0 THEN 'error' ELSE 'success' END, 8,
            run.user_id, run.api_key_id, run.id, 'request-long', false, jsonb_build_object('step', nth_step, 'call', call)
       FROM runs run, generate_series(1, ${steps}) nth_step,
            generate_series(1, ${callsPerStep}) call
      WHERE run.id = $1 AND run.organization_id = $2`,
    [rows[0].id, organization],
  );
  return rows[0].id;
}
