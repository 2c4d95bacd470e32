import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Attributed {
  attributes: { key: string; value: object }[];
}

interface OtlpBody {
  resourceSpans?: { resource: Attributed; scopeSpans: { spans: (Attributed & Record<string, unknown>)[] }[] }[];
  resourceMetrics?: {
    scopeMetrics: {
      metrics: { name: string; histogram?: { dataPoints: OtlpPoint[] }; sum?: { dataPoints: OtlpPoint[] } }[];
    }[];
  }[];
}

type OtlpPoint = Attributed & { count?: number; asInt?: number; asDouble?: number };

/** A span as OTLP has it, but for its attributes. */
export interface ReceivedSpan {
  [field: string]: unknown;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Record<string, unknown>;
}

/** An OTLP collector at the wire: takes `http/json` and keeps what it was sent. */
export class OtlpCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly resources: Record<string, unknown>[] = [];
  /** The last points of each metric; the value of a histogram is its count. */
  readonly metrics: Record<string, { attributes: Record<string, unknown>; value: number }[]> = {};
  requests = 0;
  /** Then no request is answered before the end. */
  silent = false;
  private readonly unanswered: ServerResponse[] = [];

  private constructor(private readonly server: Server) {
    server.on('request', async (request, response) => {
      this.requests++;
      const body = Buffer.concat(await request.toArray()).toString();
      this.take(JSON.parse(body) as OtlpBody);
      response.writeHead(200, { 'content-type': 'application/json' });
      if (this.silent) this.unanswered.push(response);
      else response.end('{}');
    });
  }

  static async listen(): Promise<OtlpCollector> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new OtlpCollector(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const response of this.unanswered) response.end('{}');
    this.server.close();
    await once(this.server, 'close');
  }

  private take({ resourceSpans = [], resourceMetrics = [] }: OtlpBody): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resources.push(plain(resource));
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.spans.push({ ...span, attributes: plain(span) } as ReceivedSpan);
    }
    for (const metric of resourceMetrics
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)) {
      const { dataPoints } = metric.histogram ?? metric.sum ?? { dataPoints: [] };
      this.metrics[metric.name] = dataPoints.map((point) => ({
        attributes: plain(point),
        value: Number(point.count ?? point.asInt ?? point.asDouble),
      }));
    }
  }
}

function plain({ attributes }: Attributed): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]));
}
