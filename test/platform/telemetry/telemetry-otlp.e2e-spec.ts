import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { type ProxiedCall, ProxyTelemetry } from '../../../src/platform/telemetry/proxy-telemetry.js';
import { UnavailableLedger } from '../../../src/platform/telemetry/unavailable-ledger.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { OtlpCollector } from '../../support/otlp-collector.js';
import { eventually } from '../../support/eventually.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const CALL: ProxiedCall = {
  connectionId: '01890a5d-ac96-774b-bcce-b302099a8057',
  toolName: 'echo',
  toolLabel: 'echo',
  method: 'tools/call',
  requestId: 'request-1',
  streamable: false,
  incoming: {},
};

let collector: OtlpCollector;
let database: TestDatabase;
let before: NodeJS.ProcessEnv;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await database.drop();
});

beforeEach(async () => {
  before = { ...process.env };
  collector = await OtlpCollector.listen();
});

afterEach(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  Object.assign(process.env, before);
  await collector.close();
});

/** The SDK reads the environment of the process; the settings read the object that they receive. */
async function start(env: Record<string, string>): Promise<TestApp> {
  const otel = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', ...env };
  Object.assign(process.env, otel);
  return startTestApp({ env: { ROLE: 'worker', ...otel }, database });
}

function begin({ app }: TestApp, call: Partial<ProxiedCall> = {}): ReturnType<ProxyTelemetry['begin']> {
  return app.get(ProxyTelemetry).begin({ ...CALL, ...call });
}

describe('OTLP traces', () => {
  it('have the spans and attributes of the interface and of the MCP convention', async () => {
    const app = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    begin(app).end({ status: 'success' });
    begin(app, { streamable: true, requestId: 'request-2' }).end({ status: 'error', errorCode: 'upstream_timeout' });
    begin(app, { method: 'tools/list', toolName: '', toolLabel: '' }).end({ status: 'success' });
    await app.close();
    const [called, streamed, listed] = collector.spans;

    expect(collector.spans).toHaveLength(3);
    expect(called).toMatchObject({
      name: 'mcp.proxy.callTool',
      attributes: {
        'connection.id': CALL.connectionId,
        'tool.name': 'echo',
        'request.id': 'request-1',
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'echo',
        'gen_ai.operation.name': 'execute_tool',
      },
    });
    expect(called?.attributes).not.toHaveProperty('error.type');
    expect(streamed).toMatchObject({
      name: 'mcp.proxy.callStreamableTool',
      attributes: { 'request.id': 'request-2', 'error.type': 'upstream_timeout' },
      status: { code: 2 },
    });
    expect(listed).toMatchObject({ name: 'tools/list', attributes: { 'mcp.method.name': 'tools/list' } });
    expect(listed?.attributes).not.toHaveProperty('tool.name');
    expect(collector.resources[0]).toMatchObject({ 'service.name': 'signalbox' });
  });

  it("continue the caller's trace and forward it with the span of this service", async () => {
    const app = await start({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const incoming = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`, tracestate: 'a=1,b=2' };
    const call = begin(app, { incoming });
    call.end({ status: 'success' });
    call.end({ status: 'error' });
    await app.close();
    const [span] = collector.spans;

    expect(collector.spans).toHaveLength(1);
    expect(span).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID });
    expect(call.headers).toEqual({ traceparent: `00-${TRACE_ID}-${span?.spanId}-01`, tracestate: 'a=1,b=2' });
  });

  it.each(['rubbish', undefined])('start a trace if the caller sends %j', async (traceparent) => {
    const app = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const call = begin(app, { incoming: { traceparent, tracestate: 'a=1' } });
    call.end({ status: 'success' });
    await app.close();
    const [span] = collector.spans;

    expect(span?.parentSpanId ?? '').toBe('');
    expect(call.headers).toEqual({ traceparent: `00-${span?.traceId}-${span?.spanId}-01` });
  });

  it('omit spans that the caller does not sample, and forward the decision', async () => {
    const app = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const call = begin(app, { incoming: { traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` } });
    call.end({ status: 'success' });
    await app.close();

    expect(collector.spans).toEqual([]);
    expect(call.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
  });

  it('are separate for two applications in one process', async () => {
    const one = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const other = await OtlpCollector.listen();
    const two = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: other.url });
    begin(one, { requestId: 'one' }).end({ status: 'success' });
    await one.close();
    begin(two, { requestId: 'two' }).end({ status: 'success' });
    await two.close();
    await other.close();

    expect(collector.spans.map(({ attributes }) => attributes['request.id'])).toEqual(['one']);
    expect(other.spans.map(({ attributes }) => attributes['request.id'])).toEqual(['two']);
    expect(trace.getTracer('test').startSpan('span').isRecording()).toBe(false);
  });

  it('do not delay the shutdown if the collector does not answer', async () => {
    // Longer than the time limit of the test.
    const patience = { OTEL_EXPORTER_OTLP_TIMEOUT: '120000', OTEL_BSP_EXPORT_TIMEOUT: '120000' };
    const app = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...patience });
    collector.silent = true;
    begin(app).end({ status: 'success' });
    await app.close();

    expect(collector.requests).toBeGreaterThan(0);
  });
});

describe('OTLP metrics', () => {
  it('have the names of the interface and are exported at shutdown at the latest', async () => {
    const app = await start({
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_EXPORTER: 'none',
    });
    begin(app).end({ status: 'success' });
    begin(app).end({ status: 'error', errorCode: 'upstream_timeout' });
    app.app.get(UnavailableLedger).count(CALL.connectionId, 'unreachable');
    await app.close();

    expect(collector.spans).toEqual([]);
    expect(collector.metrics).toMatchObject({
      'connection.proxy.duration': [
        { attributes: { 'connection.id': CALL.connectionId, 'tool.name': 'echo', status: 'success' }, value: 1 },
        { attributes: { 'connection.id': CALL.connectionId, 'tool.name': 'echo', status: 'error' }, value: 1 },
      ],
      'connection.proxy.errors': [{ attributes: { status: 'error' }, value: 1 }],
      'mcp.gateway.unavailable': [
        { attributes: { 'connection.id': CALL.connectionId, 'error.type': 'unreachable' }, value: 1 },
      ],
      'mcp.server.operation.duration': [{ value: 1 }, { attributes: { 'error.type': 'upstream_timeout' }, value: 1 }],
    });
  });

  it('are pushed at the configured interval', async () => {
    const app = await start({
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
      OTEL_METRIC_EXPORT_INTERVAL: '50',
    });
    try {
      begin(app).end({ status: 'success' });
      await eventually(() => expect(collector.metrics).toHaveProperty(['connection.proxy.requests']));
    } finally {
      await app.close();
    }
    expect(collector.metrics['connection.proxy.requests']).toMatchObject([{ value: 1 }]);
  });
});
