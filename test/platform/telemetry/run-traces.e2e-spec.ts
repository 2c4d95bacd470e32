import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RunSupervisor } from '../../../src/runtime/worker/run-supervisor.js';
import type { RunPage } from '../../../src/runtime/runs/records/run.dto.js';
import { createSchedule } from '../../automation/schedules/schedules.support.js';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { PROVIDER_CASES } from '../../agents/models/provider-kinds.support.js';
import { OtlpCollector, type ReceivedSpan } from '../../support/otlp-collector.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { eventually } from '../../support/eventually.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const INCOMING = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`, tracestate: 'a=1,b=2' };
const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const FAILED = 2;

let before: NodeJS.ProcessEnv;
let collector: OtlpCollector;
let tools: ToolServer;
let app: TestApp | undefined;

beforeEach(async () => {
  before = { ...process.env };
  collector = await OtlpCollector.listen();
  tools = await startToolServer('echo');
});

afterEach(async () => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  await app?.close();
  app = undefined;
  await Promise.all([collector.close(), tools.close()]);
});

async function startTracing(settings: object = {}): Promise<{ thread: ThreadClient; running: TestApp }> {
  const env = { ...settings, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  // The SDK reads the environment of the process.
  Object.assign(process.env, env);
  const running = await startTestApp({ env });
  app = running;
  return { running, thread: await threadOn(running) };
}

async function threadOn(running: TestApp): Promise<ThreadClient> {
  return ThreadClient.create(running, await createAgent(running, [await connect(running, tools.url)]));
}

/** Stops the service, which exports the remaining spans. */
async function spans(): Promise<ReceivedSpan[]> {
  await app?.close();
  app = undefined;
  return collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
}

function named(all: readonly ReceivedSpan[], name: string): ReceivedSpan[] {
  return all.filter((span) => span.name === name);
}

async function post(thread: ThreadClient, text: string, headers: Record<string, string> = INCOMING): Promise<void> {
  const stream = await thread.stream();
  await thread.post(thread.request(text), { headers }).expect(202);
  await stream.collectUntilDone();
}

describe('the trace of a run', () => {
  it('says that JSON was asked for', async () => {
    const { running } = await startTracing();
    const agentId = await createAgent(running, [], { output_schema: { type: 'object' } });
    await post(await ThreadClient.create(running, agentId), 'hello');
    expect(named(await spans(), 'chat echo')).toMatchObject([{ attributes: { 'gen_ai.output.type': 'json' } }]);
  });

  it('spans the caller, the queue, the model, the tool and its upstream', async () => {
    const { thread } = await startTracing();
    await post(thread, 'hello\n/call echo {"text":"secret argument"}', { ...INCOMING, 'x-request-id': 'traced-1' });
    const all = await spans();
    const [posted] = named(all, 'POST /api/:org/agent-runtime/threads/:threadId/messages');
    const [run] = named(all, 'invoke_agent Agent');
    const [tool] = named(all, 'execute_tool echo');
    const [call] = named(all, 'mcp.proxy.callTool');
    const chats = named(all, 'chat echo');

    expect(posted).toMatchObject({
      kind: SERVER,
      parentSpanId: SPAN_ID,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/:org/agent-runtime/threads/:threadId/messages',
        'http.response.status_code': 202,
        'request.id': 'traced-1',
      },
    });
    expect(run).toMatchObject({
      kind: INTERNAL,
      parentSpanId: posted?.spanId,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': thread.agentId,
        'gen_ai.agent.name': 'Agent',
        'gen_ai.conversation.id': thread.id,
        'gen_ai.provider.name': 'builtin',
        'gen_ai.request.model': 'echo',
        'signalbox.run.attempt': 1,
        'signalbox.run.status': 'completed',
        'request.id': 'traced-1',
      },
    });
    expect(chats).toHaveLength(2);
    for (const chat of chats) {
      for (const absent of ['gen_ai.output.type', 'gen_ai.request.max_tokens'])
        expect(Object.keys(chat.attributes)).not.toContain(absent);
      expect(chat).toMatchObject({
        kind: CLIENT,
        parentSpanId: run?.spanId,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'builtin',
          'gen_ai.request.model': 'echo',
          'gen_ai.request.stream': true,
          'gen_ai.response.finish_reasons': expect.anything(),
          'gen_ai.response.time_to_first_chunk': expect.any(Number),
          'gen_ai.usage.input_tokens': expect.any(Number),
          'gen_ai.usage.output_tokens': expect.any(Number),
        },
      });
    }
    expect(tool).toMatchObject({
      kind: INTERNAL,
      parentSpanId: run?.spanId,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'echo',
        'gen_ai.tool.type': 'extension',
        'gen_ai.tool.call.id': expect.any(String),
      },
    });
    expect(call).toMatchObject({
      kind: CLIENT,
      parentSpanId: tool?.spanId,
      attributes: { 'tool.name': 'echo', 'request.id': 'traced-1' },
    });
    expect(tools.calls('tools/call')[0]?.headers).toMatchObject({
      traceparent: `00-${TRACE_ID}-${call?.spanId}-01`,
      tracestate: 'a=1,b=2',
      'x-request-id': 'traced-1',
    });
    expect(all).toHaveLength(6);
    expect(JSON.stringify(all)).not.toMatch(/hello|secret argument|echo says/);
  });

  it('has a span for each model that it calls, by the name that the convention has for its provider', async () => {
    const { running } = await startTracing();
    const servers = await Promise.all(
      PROVIDER_CASES.map(({ start }) => start(() => ({ kind: 'text', deltas: ['ok'] }))),
    );
    try {
      for (const failing of servers.slice(0, -1)) failing.script({ kind: 'status', status: 500, document: {} });
      const models = [];
      for (const [n, { data, model }] of PROVIDER_CASES.entries()) {
        const created = { title: data.kind, base_url: servers[n]?.baseUrl, ...data };
        const { item } = await succeed<{ item: { id: string } }>(running, 'AI_PROVIDER_CREATE', { data: created });
        models.push({ provider_id: item.id, model, max_output_tokens: 100 + n });
      }
      const [first, ...fallbacks] = models;
      await succeed(running, 'MODEL_TIERS_SET', { data: { smart: { ...first, fallbacks } } });
      await post(await ThreadClient.create(running, await createAgent(running)), 'hello');
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
    const chats = (await spans()).filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'chat');
    const providers = ['gcp.gemini', 'azure.ai.openai', 'azure.ai.openai', 'aws.bedrock', 'mistral_ai'];
    expect(chats.map(({ attributes }) => attributes['gen_ai.provider.name'])).toEqual(providers);
    for (const [n, { attributes }] of chats.entries()) {
      expect(attributes).toMatchObject({
        'gen_ai.request.model': PROVIDER_CASES[n]?.model,
        'gen_ai.request.max_tokens': 100 + n,
      });
      expect(attributes['error.type']).toBe(n < chats.length - 1 ? 'provider_unavailable' : undefined);
    }
  });

  it('includes every attempt of a resumed run', async () => {
    const { thread, running } = await startTracing();
    const stream = await thread.stream();
    await thread.post(thread.request('/call echo {"text":"one"}\n/wait 300'), { headers: INCOMING }).expect(202);
    await eventually(() => expect(tools.calls('tools/call').length).toBeGreaterThan(0));
    running.app.get(RunSupervisor).stopAll('handover');
    await stream.collectUntilDone();
    const all = await spans();
    const [posted] = named(all, 'POST /api/:org/agent-runtime/threads/:threadId/messages');
    const runs = all.filter(({ name }) => name.startsWith('invoke_agent'));

    expect(runs.map(({ attributes }) => attributes['signalbox.run.attempt'])).toEqual([1, 2]);
    expect(runs.map(({ parentSpanId }) => parentSpanId)).toEqual([posted?.spanId, posted?.spanId]);
    expect(runs.map(({ attributes }) => attributes['signalbox.run.status'])).toEqual([undefined, 'completed']);
  });

  it('has a stable code for why a run, a model and a tool failed', async () => {
    const { thread } = await startTracing();
    await post(thread, '/call echo {"text":7}\n/fail the words of the failure');
    const all = await spans();

    expect(named(all, 'execute_tool echo')).toMatchObject([
      { status: { code: FAILED }, attributes: { 'error.type': 'tool_error' } },
    ]);
    expect(named(all, 'mcp.proxy.callTool')).toMatchObject([{ attributes: { 'error.type': 'invalid_arguments' } }]);
    expect(named(all, 'invoke_agent Agent')).toMatchObject([
      { status: { code: FAILED }, attributes: { 'error.type': expect.stringMatching(/^[a-z_]+$/) } },
    ]);
    expect(named(all, 'chat echo').at(-1)).toMatchObject({ status: { code: FAILED } });
    expect(JSON.stringify(all)).not.toContain('the words of the failure');
  });

  it('is named by the run, with a link where the operator has set one', async () => {
    const { thread, running } = await startTracing({ TRACE_URL: 'https://traces.example/t/{traceId}?of={traceId}' });
    await post(thread, 'hello');
    const [run] = (await succeed<RunPage>(running, 'RUN_LIST', {})).items;
    expect(run).toMatchObject({
      trace_id: TRACE_ID,
      trace_url: `https://traces.example/t/${TRACE_ID}?of=${TRACE_ID}`,
    });
  });

  it('is not named by the run if it is not sampled', async () => {
    const { thread, running } = await startTracing({ TRACE_URL: 'https://traces.example/t/{traceId}' });
    await post(thread, 'hello', { traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` });
    const [run] = (await succeed<RunPage>(running, 'RUN_LIST', {})).items;
    expect(run).toMatchObject({ trace_id: null, trace_url: null });
  });

  it('includes all of a scheduled run', async () => {
    const { thread, running } = await startTracing();
    const { id } = await createSchedule(running, thread.agentId, { message: '/call echo {"text":"one"}' });
    const { taskId } = await succeed<{ taskId: string }>(running, 'SCHEDULE_RUN', { id });
    await thread.waitFor(taskId, 'completed');
    const { trace_id: traceId, trace_url: url } = await thread.run(taskId);
    expect(url).toBeNull();
    await spans();
    const all = collector.spans.filter((span) => span.traceId === traceId);
    const [posted] = named(all, 'post_scheduled_run');
    expect(posted?.attributes).toMatchObject({ 'signalbox.schedule.id': id });
    expect(named(all, 'invoke_agent Agent')).toMatchObject([{ parentSpanId: posted?.spanId }]);
    expect(named(all, 'chat echo')).toHaveLength(2);
  });

  it('starts with the request if the caller sends no trace', async () => {
    const { thread } = await startTracing();
    await post(thread, 'hello', { traceparent: 'rubbish' });
    await spans();
    const [posted] = named(collector.spans, 'POST /api/:org/agent-runtime/threads/:threadId/messages');

    expect(posted?.parentSpanId ?? '').toBe('');
    expect(named(collector.spans, 'invoke_agent Agent')).toMatchObject([
      { traceId: posted?.traceId, parentSpanId: posted?.spanId },
    ]);
  });
});

it("forwards the caller's trace context to the upstreams of its run without tracing", async () => {
  app = await startTestApp();
  await post(await threadOn(app), '/call echo {"text":"one"}');

  const [run] = (await succeed<RunPage>(app, 'RUN_LIST', {})).items;
  expect(run).toMatchObject({ trace_id: TRACE_ID, trace_url: null });
  expect(collector.requests).toBe(0);
  expect(tools.calls('tools/call')[0]?.headers).toMatchObject(INCOMING);
});
