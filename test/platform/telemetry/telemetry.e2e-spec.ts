import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import {
  type MeasuredCall,
  type ProxiedCall,
  ProxyTelemetry,
} from '../../../src/platform/telemetry/proxy-telemetry.js';
import { MetricsExport } from '../../../src/platform/telemetry/metrics-export.js';
import { startTestApp, type TestApp } from '../../support/app.js';

const CALL: ProxiedCall = {
  connectionId: '01890a5d-ac96-774b-bcce-b302099a8057',
  toolName: 'echo',
  toolLabel: 'echo',
  method: 'tools/call',
  requestId: 'request-1',
  streamable: false,
  incoming: {},
};

function begin({ app }: TestApp, call: Partial<ProxiedCall> = {}): MeasuredCall {
  return app.get(ProxyTelemetry).begin({ ...CALL, ...call });
}

function metricsUrl({ app }: TestApp): string {
  const { url } = app.get(MetricsExport);
  if (url === undefined) throw new Error('The application serves no metrics.');
  return url;
}

async function scrape(of: TestApp): Promise<string[]> {
  const response = await fetch(metricsUrl(of));
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return (await response.text()).split('\n');
}

describe('Metrics for Prometheus', () => {
  let one: TestApp;

  beforeAll(async () => {
    one = await startTestApp();
  });

  afterAll(async () => {
    await one.close();
  });

  it('report proxied requests under the names of the interface', async () => {
    begin(one).end({ status: 'success' });
    begin(one).end({ status: 'error', errorCode: 'upstream_timeout' });
    begin(one, { streamable: true }).end({ status: 'success' });
    begin(one, { toolName: 'made up', toolLabel: 'other' }).end({ status: 'error', errorCode: 'unknown_tool' });
    const lines = await scrape(one);
    const labels = (tool: string, status: string): string =>
      `{connection_id="${CALL.connectionId}",tool_name="${tool}",status="${status}"}`;

    expect(lines).toEqual(
      expect.arrayContaining([
        '# TYPE connection_proxy_duration_seconds histogram',
        `connection_proxy_duration_seconds_count${labels('echo', 'success')} 1`,
        `connection_proxy_requests_total${labels('echo', 'success')} 1`,
        `connection_proxy_requests_total${labels('echo', 'error')} 1`,
        `connection_proxy_errors_total${labels('echo', 'error')} 1`,
        `connection_proxy_errors_total${labels('other', 'error')} 1`,
        `connection_proxy_streamable_duration_seconds_count${labels('echo', 'success')} 1`,
        `connection_proxy_streamable_requests_total${labels('echo', 'success')} 1`,
        `connection_proxy_streamable_errors_total${labels('echo', 'error')} 0`,
        'mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="echo",gen_ai_operation_name="execute_tool"} 2',
      ]),
    );
    expect(lines.join('\n')).not.toContain('made up');
    expect(lines.find((line) => line.startsWith('target_info{'))).toContain('service_name="signalbox"');
  });

  it('count a request once if it is ended twice', async () => {
    const call = begin(one, { toolName: 'twice', toolLabel: 'twice' });
    call.end({ status: 'success' });
    call.end({ status: 'error', errorCode: 'internal' });
    const counted = (await scrape(one)).filter((line) => /^connection_proxy_requests_total.*"twice"/.test(line));

    expect(counted).toEqual([expect.stringMatching(/status="success"} 1$/)]);
  });

  it('are the only resource on their port', async () => {
    const url = metricsUrl(one);

    expect((await fetch(new URL('/', url))).status).toBe(404);
    expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(405);
    expect((await fetch(`${url}?name[]=x`)).status).toBe(200);
  });

  it('are separate for two applications in one process', async () => {
    const two = await startTestApp();
    try {
      begin(two, { toolName: 'second', toolLabel: 'second' }).end({ status: 'success' });

      expect((await scrape(two)).join('\n')).toContain('tool_name="second"');
      expect((await scrape(one)).join('\n')).not.toContain('tool_name="second"');
    } finally {
      await two.close();
    }
  });

  it('are disabled with a warning if their port is taken', async () => {
    const { port } = new URL(metricsUrl(one));
    const lines: string[] = [];
    const two = await startTestApp({
      env: { METRICS_PORT: port, ROLE: 'worker', LOG_LEVEL: 'warn' },
      onLogLine: (line) => lines.push(line),
    });
    try {
      begin(two).end({ status: 'success' });

      expect(two.app.get(MetricsExport).url).toBeUndefined();
      expect((await fetch(`${two.url}/health/live`)).status).toBe(200);
      expect(lines.join('')).toContain(`Cannot bind METRICS_PORT ${port} on 127.0.0.1 (EADDRINUSE)`);
    } finally {
      await two.close();
    }
    expect((await fetch(metricsUrl(one))).status).toBe(200);
  });

  it('can be disabled', async () => {
    const off = await startTestApp({ env: { METRICS_PORT: 'off' } });
    try {
      begin(off).end({ status: 'success' });

      expect(off.app.get(MetricsExport).url).toBeUndefined();
    } finally {
      await off.close();
    }
  });

  it('release their port at shutdown, even with open readers', async () => {
    const two = await startTestApp({ env: { ROLE: 'worker' } });
    const url = metricsUrl(two);
    // `fetch` keeps its connection open.
    await (await fetch(url)).text();
    await two.close();

    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});

describe('Trace context without tracing', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp();
  });

  afterAll(async () => {
    await app.close();
  });

  it('is forwarded unchanged', () => {
    expect(begin(app, { incoming: { traceparent, tracestate: 'a=1' } }).headers).toEqual({
      traceparent,
      tracestate: 'a=1',
    });
  });

  it('is dropped if it is invalid, and never created', () => {
    expect(begin(app, { incoming: { traceparent: 'rubbish', tracestate: 'a=1' } }).headers).toEqual({});
    expect(begin(app).headers).toEqual({});
  });

  it('does not change the global tracer', () => {
    expect(trace.getTracer('test').startSpan('span').isRecording()).toBe(false);
  });
});
