import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { OtlpCollector } from '../../support/otlp-collector.js';
import { startTestService, type TestService } from '../../support/service.js';
import { download, upload, uploaded } from '../../runtime/files/files.support.js';

const TEXT = 'Some text.\n';
/** Of requests and of the run. */
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACED = { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` };

let collector: OtlpCollector;
let service: TestService;

beforeAll(async () => {
  collector = await OtlpCollector.listen();
  service = await startTestService({
    env: {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_METRICS_EXPORTER: 'otlp',
      FILES_MAX_MB: '1',
    },
  });
});
afterAll(async () => {
  await service?.close();
  await collector?.close();
});

it('measures and traces what requests and runs move', async () => {
  const { id, url } = await uploaded(service, Buffer.from(TEXT), { type: 'text/plain' });
  expect(await (await download(service, url, TRACED)).text()).toBe(TEXT);
  const thread = await ThreadClient.create(service, await createAgent(service));
  const stream = await thread.stream();
  const parts = [{ type: 'file', mediaType: 'text/plain', url }];
  const body = { ...thread.request('Read this.'), messages: [{ role: 'user', parts }] };
  await thread.post(body, { headers: TRACED }).expect(202);
  await stream.collectUntilDone();
  // Without a length, so that the file turns out to be too large while it is stored.
  const large = new Blob(['a'.repeat(1024 * 1024 + 1)]).stream();
  expect((await upload(service, large, { type: 'text/plain' })).status).toBe(413);
  // Exports the rest.
  await service.close();

  const transfers = collector.metrics['signalbox.file.transfer.size'];
  const count = (operation: string, code?: string) =>
    transfers?.find(({ attributes: a }) => a['operation'] === operation && a['error.type'] === code)?.value;
  expect([count('read'), count('write'), count('write', 'body_too_large')]).toEqual([2, 1, 1]);

  const nameOf = (spanId: unknown) => collector.spans.find((span) => span.spanId === spanId)?.name;
  const reads = collector.spans.filter(({ name, traceId }) => name === 'read_file' && traceId === TRACE_ID);
  const parents = reads.map(({ parentSpanId }) => nameOf(parentSpanId));
  expect(parents.sort()).toEqual(['GET /api/:org/files/:fileId', 'invoke_agent Agent']);
  expect(reads.map(({ attributes }) => Number(attributes['signalbox.file.bytes']))).toEqual([TEXT.length, TEXT.length]);
  const [whole, refused] = collector.spans.filter(({ name }) => name === 'write_file');
  expect(Number(whole?.attributes['signalbox.file.bytes'])).toBe(TEXT.length);
  expect(refused?.attributes).toMatchObject({ 'error.type': 'body_too_large', store: 'postgresql' });
  const ofTransfers = collector.spans.filter(({ name }) => name.endsWith('_file'));
  expect(JSON.stringify(ofTransfers)).not.toContain(id);
});
