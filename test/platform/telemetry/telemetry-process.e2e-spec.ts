import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Http2Server, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { createTestDatabase, openQueries, type TestDatabase } from '../../support/database.js';
import { eventually } from '../../support/eventually.js';
import { ServiceProcess, testEnvironment } from '../../support/service-process.js';
import { callTool, type Tenant } from '../../support/tenant.js';

const PRELOADED = new URL('./preloaded-provider.mjs', import.meta.url).href;

// The built service is a bundle: what it shares with scripts and packages beside it must not be in there twice.
let database: TestDatabase;
let collector: Http2Server;
let service: ServiceProcess;
/** The paths that were called over gRPC. */
const called: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  collector = createServer();
  collector.on('stream', (stream, headers: IncomingHttpHeaders) => {
    called.push(String(headers[':path']));
    stream.resume();
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    // An empty message: not compressed, of no length.
    stream.end(Buffer.alloc(5));
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const { port } = collector.address() as AddressInfo;
  service = new ServiceProcess({
    ...testEnvironment(database.url),
    NODE_OPTIONS: `--import ${PRELOADED}`,
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_TRACES_EXPORTER: 'none',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  });
  await service.listening();
});
afterAll(async () => {
  await service?.kill('SIGKILL');
  collector?.close();
  await database?.drop();
});

it('makes its spans with the provider of a script that Node.js loads first', async () => {
  const { url, apiKey = '' } = await service.listening();
  const { query, end } = openQueries(database.url);
  const tenant: Tenant = {
    url,
    org: 'default',
    apiKey,
    tool: (name, body = {}, key = apiKey) => callTool({ url, org: 'default', apiKey: key }, name, body),
    query,
    close: end,
  };
  try {
    const thread = await ThreadClient.create(tenant, await createAgent(tenant));
    await thread.waitFor(await thread.postMessage('hello'), 'completed');
  } finally {
    await tenant.close();
  }
  expect(await service.printed(/preloaded span (invoke_agent.*)/)).toBeTruthy();
});

it('exports metrics over gRPC', async () => {
  await eventually(() => expect(called).toContain('/opentelemetry.proto.collector.metrics.v1.MetricsService/Export'));
});
