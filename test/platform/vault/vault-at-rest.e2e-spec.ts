import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { connectEnterprise, employ, signInAt } from '../../connections/upstream-oauth/enterprise.support.js';
import { authorize, begin, connectOauth, signedIn } from '../../connections/upstream-oauth/log-in.support.js';
import { startOauthUpstream } from '../../connections/upstream-oauth/oauth-upstream.js';
import { Issuer } from '../../identity/sign-in/issuer.js';
import { SEALED_COLUMNS } from '../../../src/platform/vault/sealed-columns.js';
import supertest from 'supertest';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { startTestService, type TestService } from '../../support/service.js';
import { BEDROCK_FIELDS } from '../../support/model-apis/bedrock-api.js';
import { PROVIDER_KEY } from '../../support/model-tools.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';

const TITLE = 'title-that-anybody-may-see-0123456789';
const SECRETS = {
  token: 'token-that-nobody-may-see-0123456789',
  header: 'header-that-nobody-may-see-0123456789',
  environment: 'environment-that-nobody-may-see-0123456789',
  providerKey: PROVIDER_KEY,
  awsKeyId: BEDROCK_FIELDS.access_key_id,
  awsKey: BEDROCK_FIELDS.secret_access_key,
  awsToken: BEDROCK_FIELDS.session_token,
  clientSecret: 'client-secret-that-nobody-may-see-0123456789',
  argument: 'argument-that-nobody-may-see-0123456789',
};
const TOOL = { name: 'echo', inputSchema: { type: 'object' } };
const KEY_INPUT = { name: 'extra', permissions: { self: ['*'], '*': ['*'] } };

let service: TestService;
let issuer: Issuer;
let friendly: ScriptedServer;
let refusing: ScriptedServer;

beforeAll(async () => {
  issuer = await Issuer.start(() => [`${service.url}/auth/oidc/callback`]);
  service = await startTestService({ env: { STDIO_COMMANDS: 'node', ...issuer.env() } });
  const { script } = legacyServer(({ message }, response) =>
    sendResult(response, message, { tools: [TOOL], content: [{ type: 'text', text: SECRETS.argument }] }),
  );
  friendly = await startScripted(script);
  // It echoes its input, as many servers do.
  refusing = await startScripted(({ headers, message }, response) => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: message.id,
      error: { code: -32000, message: 'No.', data: headers },
    });
    response.writeHead(401, { 'content-type': 'application/json', 'x-seen': headers.authorization ?? '' }).end(body);
  });
});

afterAll(async () => {
  await service?.close();
  issuer?.close();
  await friendly?.close();
  await refusing?.close();
});

it('no row of any table contains a secret in plain text', async () => {
  const { key } = await call<{ key: string }>('API_KEY_CREATE', KEY_INPUT);
  const working = await createConnection(friendly.url);
  const refused = await createConnection(refusing.url);
  await call('COLLECTION_CONNECTIONS_CREATE', {
    data: {
      connection_type: 'STDIO',
      title: TITLE,
      stdio: { command: 'node', env: { SECRET: SECRETS.environment } },
    },
  });
  await call('AI_PROVIDER_CREATE', {
    data: { title: TITLE, kind: 'openai-compatible', base_url: refusing.origin, api_key: SECRETS.providerKey },
  });
  await call('AI_PROVIDER_CREATE', { data: { title: TITLE, ...BEDROCK_FIELDS } });
  await useOauth();
  await registerOauthClient();
  // The ID token is kept for the connection.
  await connectEnterprise(service, friendly.url);
  await signInAt(issuer, await employ(service));
  const webhookSecrets = await createWebhook();
  await recordModelCall();
  expect(await call('CONNECTION_TEST', { id: working })).toMatchObject({ ok: true });
  expect(await call('CONNECTION_TEST', { id: refused })).toMatchObject({ ok: false });
  await callTool(working);
  await callTool(refused);

  const rows = await allRows();
  const containing = (text: string): string[] => rows.filter(({ row }) => row.includes(text)).map(({ table }) => table);
  // Finding plain values and the hash of the key shows that the search works.
  expect(containing(TITLE)).toEqual(expect.arrayContaining(['public.connections', 'public.ai_providers']));
  expect(containing(createHash('sha256').update(key).digest('hex'))).toEqual(['public.api_keys']);
  // Each sealed column contains an envelope, and no other column does, because rotation would not cover it.
  expect((await columnsWith('v1.test.')).toSorted()).toEqual(
    Object.values(SEALED_COLUMNS)
      .map(({ table, column }) => `public.${table}.${column}`)
      .toSorted(),
  );
  for (const [name, secret] of Object.entries({ ...SECRETS, ...webhookSecrets, key, bootstrapKey: service.apiKey })) {
    for (const form of formsOf(secret)) expect({ name, tables: containing(form) }).toEqual({ name, tables: [] });
  }
});

async function call<T>(name: string, body: object): Promise<T> {
  const answer = await service.tool(name, body);
  expect({ name, status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
  return answer.body as T;
}

/** Stores what a model was sent in a run. */
async function recordModelCall(): Promise<void> {
  await call('ORGANIZATION_UPDATE', { model_recording: 'full' });
  const thread = await ThreadClient.create(service, await createAgent(service));
  const { taskId } = await thread.ask('hello');
  await eventually(async () => {
    const { item } = await call<{ item: object | null }>('RUN_MODEL_CALL_GET', { id: taskId, number: 1 });
    return item !== null;
  });
}

/** The first use of the authorization server also creates its signing key. */
async function registerOauthClient(): Promise<void> {
  const client = { redirect_uris: ['https://app.example/callback'], token_endpoint_auth_method: 'none' };
  await supertest(service.url).post('/oauth/register').send(client).expect(201);
}

/** Stores a webhook whose secret was rotated; returns the base64 of both secrets. */
async function createWebhook(): Promise<{ webhookSecret: string; previousWebhookSecret: string }> {
  const data = { url: 'https://app.example/hook', events: ['run.completed'] };
  const { item, secret } = await call<{ item: { id: string }; secret: string }>('WEBHOOK_CREATE', { data });
  const rotated = await call<{ secret: string }>('WEBHOOK_ROTATE', { id: item.id });
  const withoutPrefix = (text: string): string => text.slice('whsec_'.length);
  return { webhookSecret: withoutPrefix(rotated.secret), previousWebhookSecret: withoutPrefix(secret) };
}

/** Stores tokens and a registered client, a log-in in progress, and the secret of a client that was set up. */
async function useOauth(): Promise<void> {
  const upstream = await startOauthUpstream();
  try {
    const owner = await signedIn(service);
    const registered = await connectOauth(service, upstream);
    expect((await authorize(owner, upstream, registered)).status).toBe(200);
    await begin(owner, registered);
    await connectOauth(service, upstream, { client_id: 'client', client_secret: SECRETS.clientSecret });
  } finally {
    await upstream.close();
  }
}

async function createConnection(url: string): Promise<string> {
  const { item } = await call<{ item: { id: string } }>('COLLECTION_CONNECTIONS_CREATE', {
    data: {
      connection_type: 'HTTP',
      title: TITLE,
      connection_url: url,
      connection_token: SECRETS.token,
      connection_headers: { headers: { 'x-secret': SECRETS.header } },
    },
  });
  return item.id;
}

/** Regardless of the outcome, neither arguments nor result must be stored. */
async function callTool(connectionId: string): Promise<void> {
  const params = { name: TOOL.name, arguments: { text: SECRETS.argument } };
  const answer = await fetch(`${service.url}/api/default/mcp/${connectionId}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.apiKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  expect(answer.status).not.toBe(404);
  await answer.arrayBuffer();
}

/** Every row of every table in PostgreSQL's text format; `bytea` in hexadecimal. */
function allRows(): Promise<{ table: string; row: string }[]> {
  return fromEachTable(async (table) => {
    const found: { row: string }[] = await service.query(`SELECT t::text AS row FROM ${table} AS t`);
    return found.map(({ row }) => ({ table, row }));
  });
}

/** `schema.table.column` of all columns with a value that contains the text. */
function columnsWith(text: string): Promise<string[]> {
  return fromEachTable(async (table) => {
    const found: { key: string }[] = await service.query(
      `SELECT DISTINCT field.key FROM ${table} AS t, jsonb_each_text(to_jsonb(t)) AS field
        WHERE strpos(field.value, $1) > 0`,
      [text],
    );
    return found.map(({ key }) => `${table}.${key}`);
  });
}

async function fromEachTable<T>(find: (table: string) => Promise<T[]>): Promise<T[]> {
  const tables: { name: string }[] = await service.query(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  return (await Promise.all(tables.map(({ name }) => find(name)))).flat();
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  // Without the end, whose base64 depends on the following bytes.
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3));
  return [secret, bytes.toString('hex'), whole.toString('base64'), whole.toString('base64url')];
}
