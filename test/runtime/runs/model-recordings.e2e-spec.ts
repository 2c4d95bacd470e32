import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MonitoringLogItem } from '../../../src/audit/calls/monitoring.dto.js';
import type { ModelCallOutput, RecordedCallItem } from '../../../src/runtime/runs/records/model-recording.dto.js';
import type { RunDetails } from '../../../src/runtime/runs/records/run.dto.js';
import { connect, createAgent, serveTier, succeed, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { type Behaviour, type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { keyWith } from '../../support/proxy-connections.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';

const INSTRUCTIONS = 'Answer like a signalman.';
const QUESTION = 'Is the line clear?';
const ARGUMENT = 'line-four';
const ANSWER = 'The line is clear.';
const PRICE = { input: 3, output: 15 };
const CALL: Behaviour = { kind: 'tool-calls', calls: [{ name: 'echo', arguments: { text: ARGUMENT } }] };
const TEXT: Behaviour = { kind: 'text', deltas: ['The line ', 'is clear.'] };
const HASH = expect.stringMatching(/^[0-9a-f]{16}$/);

let app: Tenant;
let provider: FakeOpenAI;
let tools: ToolServer;
let thread: ThreadClient;

beforeAll(async () => {
  [app, provider, tools] = await Promise.all([newTenant(), startFakeOpenAI(), startToolServer('echo')]);
  await serveTier(app, 'smart', provider, { model: 'large', price: PRICE });
});
afterAll(async () => {
  await app?.close();
  await Promise.all([provider?.close(), tools?.close()]);
});
beforeEach(async () => {
  const agentId = await createAgent(app, [await connect(app, tools.url)], { instructions: INSTRUCTIONS });
  thread = await ThreadClient.create(app, agentId);
});

const record = (setting: string): Promise<unknown> => succeed(app, 'ORGANIZATION_UPDATE', { model_recording: setting });

async function runWith(...behaviours: Behaviour[]): Promise<RunDetails> {
  provider.script(...behaviours);
  const { taskId } = await thread.ask(QUESTION, { temperature: 0.5 });
  return (await succeed<{ item: RunDetails }>(app, 'RUN_GET', { id: taskId })).item;
}

const read = (id: string, number: number): Promise<ModelCallOutput> =>
  succeed<ModelCallOutput>(app, 'RUN_MODEL_CALL_GET', { id, number });

/** The recording of a call, which is stored a moment after the call. */
function recorded(id: string, number: number): Promise<RecordedCallItem> {
  return eventually(async () => {
    const { item } = await read(id, number);
    expect(item).not.toBeNull();
    return item as RecordedCallItem;
  });
}

/** Waits for the recording of a further run: they are stored in the order of their calls. */
async function writtenSoFar(): Promise<void> {
  await recorded((await runWith(TEXT)).id, 1);
}

function storedRecordings(id: string): Promise<{ id: string; content: string }[]> {
  return app.query('SELECT id, content FROM model_recordings WHERE run_id = $1', [id]);
}

describe('what is recorded of model calls', () => {
  it('is nothing by default, but the time to the first token', async () => {
    const run = await runWith({ ...TEXT, delayMs: 60 });
    expect(await read(run.id, 1)).toEqual({ setting: 'off', item: null });
    const [call] = run.model_calls;
    expect(call?.first_chunk_ms).toBeGreaterThanOrEqual(59);
    expect(call?.first_chunk_ms).toBeLessThanOrEqual(call?.duration_ms ?? 0);
    expect(call).toMatchObject({ reasoning_tokens: 0 });
    await record('full');
    await writtenSoFar();
    expect(await read(run.id, 1)).toEqual({ setting: 'full', item: null });
  });

  it('is what was sent and answered in each call of a run', async () => {
    await record('full');
    const { id } = await runWith(CALL, TEXT);
    const first = await recorded(id, 1);
    expect(first).toMatchObject({
      recording: 'full',
      is_too_large: false,
      price: PRICE,
      request: {
        instructions: { text: INSTRUCTIONS, size: INSTRUCTIONS.length, hash: HASH },
        messages: [{ role: 'user', parts: [{ type: 'text', text: QUESTION, tool_name: null }] }],
        tools: [{ name: 'echo', input_schema: { text: expect.stringContaining('"object"') } }],
        settings: { temperature: 0.5, max_output_tokens: null, tool_choice: 'auto', response_format: 'text' },
      },
      response: {
        parts: [{ type: 'tool-call', tool_name: 'echo', text: JSON.stringify({ text: ARGUMENT }) }],
        finish_reason: 'tool-calls',
      },
      tries: [{ error_code: null }],
    });
    expect(first.request.tools[0]?.tokens).toBeGreaterThan(0);
    expect(first.request.tokens).toBeGreaterThan(first.request.tools[0]?.tokens ?? Infinity);
    const second = await recorded(id, 2);
    expect(second.request.messages.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)])).toEqual([
      ['user', 'text'],
      ['assistant', 'tool-call'],
      ['tool', 'tool-result'],
    ]);
    expect(second.request.messages[2]?.parts[0]?.text).toContain(ARGUMENT);
    expect(second.response.parts).toMatchObject([{ type: 'text', text: ANSWER }]);
    expect(second.request.instructions).toEqual(first.request.instructions);
  });

  it('has each try, and the one that failed', async () => {
    await record('full');
    const busy: Behaviour = { kind: 'status', status: 503, headers: { 'retry-after-ms': '10' } };
    const { id, model_calls: calls } = await runWith(busy, { kind: 'status', status: 400 });
    const code = calls[0]?.error_code;
    const call = await recorded(id, 1);
    expect(call.tries.map(({ error_code }) => error_code)).toEqual(['provider_unavailable', code]);
    expect(call).toMatchObject({ request: { messages: [{}] }, response: { parts: [], finish_reason: null } });
  });

  it('has no text of anybody if it is redacted', async () => {
    await record('redacted');
    const { id } = await runWith(CALL, TEXT);
    const texts = [INSTRUCTIONS, QUESTION, ARGUMENT, ANSWER];
    for (const number of [1, 2]) {
      const json = JSON.stringify(await recorded(id, number));
      expect(texts.filter((text) => json.includes(text))).toEqual([]);
    }
    const second = await recorded(id, 2);
    expect(second).toMatchObject({
      recording: 'redacted',
      request: {
        instructions: { size: INSTRUCTIONS.length, text: null, hash: HASH },
        messages: [
          { parts: [{ type: 'text', size: QUESTION.length, text: null }] },
          { parts: [{ type: 'tool-call', tool_name: 'echo', text: null }] },
          { parts: [{ type: 'tool-result', tool_name: 'echo', text: null }] },
        ],
      },
      response: { parts: [{ type: 'text', size: ANSWER.length, text: null }] },
    });
    const [, call, result] = second.request.messages.map(({ parts }) => parts[0]);
    expect(result?.tool_call_id).toBe(call?.tool_call_id);
  });

  it('hides the name of a tool that the model has made up', async () => {
    await record('redacted');
    const { id } = await runWith({ kind: 'tool-calls', calls: [{ name: 'my_secret', arguments: {} }] }, TEXT);
    expect((await recorded(id, 1)).response.parts).toMatchObject([{ type: 'tool-call', tool_name: '***' }]);
  });

  it('is recorded without its texts if they are too large, and cut if one is', async () => {
    await record('full');
    thread = await ThreadClient.create(app, await createAgent(app, [], { instructions: 'x'.repeat(70_000) }));
    const cut = await recorded((await runWith(TEXT)).id, 1);
    expect(cut.request.instructions).toMatchObject({ size: 70_000, text: 'x'.repeat(65_536) });
    provider.script(TEXT);
    const parts = Array.from({ length: 8 }, () => ({ type: 'text', text: 'y'.repeat(64_000) }));
    const posted = await thread.post({ messages: [{ role: 'user', parts }], agent: { id: thread.agentId } });
    const { taskId } = posted.body as { taskId: string };
    await thread.waitFor(taskId, 'completed');
    const call = await recorded(taskId, 1);
    expect(call).toMatchObject({ recording: 'redacted', is_too_large: true });
    expect(call.request.messages.at(-1)?.parts).toContainEqual(expect.objectContaining({ size: 64_000, text: null }));
  });

  it('is sealed, and deleted with its thread', async () => {
    await record('full');
    const { id } = await runWith(TEXT);
    await recorded(id, 1);
    const [row] = await storedRecordings(id);
    expect(row?.content).toMatch(/^v1\./);
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: thread.id });
    expect(await storedRecordings(id)).toEqual([]);
  });

  it('is not part of the record of calls when it is read', async () => {
    await record('full');
    const { id } = await runWith(TEXT);
    await recorded(id, 1);
    await succeed(app, 'AUDIT_SETTINGS_UPDATE', { content: true });
    const where = { field: ['tool_name'], operator: 'eq', value: 'RUN_MODEL_CALL_GET' };
    // The setting takes effect within a second.
    const call = await eventually(async () => {
      await read(id, 1);
      const { items } = await succeed<{ items: MonitoringLogItem[] }>(app, 'MONITORING_LOGS_LIST', { where, limit: 1 });
      expect(items).toMatchObject([{ status: 'success', arguments: { id, number: 1 } }]);
      return items[0];
    });
    await succeed(app, 'AUDIT_SETTINGS_UPDATE', { content: false });
    expect(call?.result).toEqual({ truncated: true });
  });

  it('stays when the organization stops to record, and nothing is added', async () => {
    await record('full');
    const before = await runWith(TEXT);
    await recorded(before.id, 1);
    await record('off');
    const after = await runWith(TEXT);
    expect(await read(before.id, 1)).toMatchObject({ setting: 'off', item: { recording: 'full' } });
    await record('full');
    await writtenSoFar();
    expect(await read(after.id, 1)).toEqual({ setting: 'full', item: null });
  });
});

describe('reading it', () => {
  it('needs the permission to read messages, and its own', async () => {
    const { id } = await runWith(TEXT);
    const statusFor = async (...self: string[]): Promise<number> =>
      (await app.tool('RUN_MODEL_CALL_GET', { id, number: 1 }, await keyWith(app, { self }))).status;
    expect(await statusFor('RUN_GET', 'COLLECTION_THREAD_MESSAGES_LIST')).toBe(403);
    expect(await statusFor('RUN_GET', 'RUN_MODEL_CALL_GET')).toBe(403);
    expect(await statusFor('RUN_MODEL_CALL_GET', 'COLLECTION_THREAD_MESSAGES_LIST')).toBe(200);
  });

  it('finds no run of another organization, and no call that the run does not have', async () => {
    const { id } = await runWith(TEXT);
    const other = await newTenant();
    const answers = [
      await other.tool('RUN_MODEL_CALL_GET', { id, number: 1 }),
      await app.tool('RUN_MODEL_CALL_GET', { id, number: 2 }),
      await app.tool('RUN_MODEL_CALL_GET', { id, number: 0 }),
      await app.tool('RUN_MODEL_CALL_GET', { id: 'rubbish', number: 1 }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [404, 'run_not_found'],
      [404, 'not_found'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
    ]);
    await other.close();
  });
});

describe('the setting', () => {
  it('is one of three, and each change is on record', async () => {
    await record('off');
    await record('redacted');
    expect((await app.tool('ORGANIZATION_UPDATE', { model_recording: 'all' })).status).toBe(400);
    expect((await succeed<{ item: object }>(app, 'ORGANIZATION_GET', {})).item).toMatchObject({
      model_recording: 'redacted',
    });
    const { items } = await succeed<{ items: { changes: object }[] }>(app, 'AUDIT_EVENTS_LIST', { limit: 1 });
    expect(items[0]?.changes).toEqual({ model_recording: { from: 'off', to: 'redacted' } });
  });
});
