import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { MetricService, Span, TraceService } from 'nestjs-otel';
import { type RunningService, startService } from '../../src/start-service.js';
import { Access } from '../../src/core/access.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { startTestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { OtlpCollector } from '../support/otlp-collector.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';

@Injectable()
class RatesService {
  private readonly lookups = this.metrics.getCounter('acme.rates.lookups', { description: 'Rates looked up.' });

  constructor(
    private readonly metrics: MetricService,
    private readonly tracing: TraceService,
  ) {}

  @Span('acme.rates.find')
  async find(currency: string): Promise<number> {
    this.lookups.add(1, { currency });
    this.tracing.getSpan()?.setAttribute('acme.currency', currency);
    return this.read();
  }

  @Span('acme.rates.read')
  private async read(): Promise<number> {
    return 1.08;
  }
}

@Controller('acme')
@Access('public')
class RatesController {
  constructor(private readonly rates: RatesService) {}

  @Get('rate')
  async rate(): Promise<{ rate: number }> {
    return { rate: await this.rates.find('EUR') };
  }
}

@Module({ controllers: [RatesController], providers: [RatesService] })
class RatesModule {}

describe('a module with a metric and a span, in a service that is started for itself', () => {
  let before: NodeJS.ProcessEnv;
  let collector: OtlpCollector;
  let database: TestDatabase;
  let service: RunningService;
  let metricsPort: number;

  beforeAll(async () => {
    before = { ...process.env };
    collector = await OtlpCollector.listen();
    database = await createTestDatabase();
    metricsPort = await freePort();
    const env = {
      DATABASE_URL: database.url,
      ENCRYPTION_KEYS: generateEncryptionKey('test'),
      PORT: '0',
      LOG_LEVEL: 'silent',
      METRICS_PORT: String(metricsPort),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    };
    // The SDK reads the environment of the process.
    Object.assign(process.env, env);
    service = await startService(env, { modules: [RatesModule] });
  });

  afterAll(async () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    await service?.stop();
    await collector?.close();
    await database?.drop();
  });

  it('shows both on /metrics and to the collector', async () => {
    const headers = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` };
    expect(await (await fetch(`${service.url}/acme/rate`, { headers })).json()).toEqual({ rate: 1.08 });
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();

    expect(text).toContain('# TYPE acme_rates_lookups_total counter');
    expect(text).toContain('acme_rates_lookups_total{currency="EUR"} 1');
    // What the service measures itself stands beside it.
    expect(text).toContain('# TYPE process_cpu_time_seconds_total counter');

    await service.stop();
    const find = collector.spans.find(({ name }) => name === 'acme.rates.find');
    const read = collector.spans.find(({ name }) => name === 'acme.rates.read');
    const request = collector.spans.find(({ name }) => name === 'GET /acme/rate');
    expect(request).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID });
    expect(find).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: request?.spanId,
      attributes: { 'acme.currency': 'EUR' },
    });
    expect(read).toMatchObject({ traceId: find?.traceId, parentSpanId: find?.spanId });
    expect(collector.metrics['acme.rates.lookups']).toMatchObject([{ attributes: { currency: 'EUR' }, value: 1 }]);
  });

  it('leaves nothing behind in the process when the service has stopped', () => {
    expect(trace.getTracer('test').startSpan('span').isRecording()).toBe(false);
  });
});

describe('a module with a metric and a span, in one of several applications of a process', () => {
  it('works, and shows them nowhere', async () => {
    const app = await startTestApp({ modules: [RatesModule] });
    try {
      expect((await fetch(`${app.url}/acme/rate`)).status).toBe(200);
      expect(trace.getTracer('test').startSpan('span').isRecording()).toBe(false);
    } finally {
      await app.close();
    }
  });
});
