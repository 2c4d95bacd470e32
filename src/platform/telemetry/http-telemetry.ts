import { Injectable } from '@nestjs/common';
import { context, type Span, SpanKind, SpanStatusCode, trace, type Tracer, type Attributes } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { urlWithoutCredentials } from '../../core/credential-forms.js';
import {
  ERROR_TYPE,
  HTTP_REQUEST_METHOD,
  HTTP_RESPONSE_STATUS_CODE,
  HTTP_ROUTE,
  REQUEST_ID,
  URL_PATH,
  URL_SCHEME,
  HTTP_REQUEST_DURATION,
  NOT_LISTED,
} from './names.js';
import { incomingTrace, parentOf, type TraceContext, traceContextOf, validTraceContext } from './trace-context.js';
import { Tracing, Metering } from './open-telemetry.js';
import type { CollectionResult, MetricProducer } from '@opentelemetry/sdk-metrics';
import { DURATION_BOUNDARIES, DurationHistogram, collected, histogramOf, hrTime } from './metric-data.js';

const REQUEST_DURATION = { name: HTTP_REQUEST_DURATION, description: 'Duration of HTTP requests.' };
const FIRST_BOUNDARY = DURATION_BOUNDARIES.indexOf(0.005);
/** The methods that are labels for requests to unknown routes; others count as `_OTHER`. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * The requests of one method to one route, by status: routes and statuses bound the number of series, so callers cannot
 * raise it.
 */
class HttpSeries {
  readonly byStatus = new Map<number, DurationHistogram>();

  constructor(readonly attributes: Attributes) {}

  record(statusCode: number, seconds: number): void {
    let histogram = this.byStatus.get(statusCode);
    if (histogram === undefined) {
      histogram = new DurationHistogram();
      this.byStatus.set(statusCode, histogram);
    }
    histogram.record(seconds);
  }
}

/**
 * Counts the HTTP requests of this process without instruments of the SDK, which hash their attributes at every
 * measurement and would slow down the proxy.
 */
@Injectable()
export class HttpMetrics implements MetricProducer {
  private readonly startTime = hrTime(Date.now());
  private readonly series = new Map<string, HttpSeries>();

  constructor(metering: Metering) {
    metering.add(this);
  }

  /** @param route as registered; undefined for a request that matches no route */
  seriesOf(method: string, route: string | undefined): HttpSeries {
    const name = route === undefined && !METHODS.has(method) ? NOT_LISTED : method;
    const key = `${name} ${route ?? ''}`;
    let series = this.series.get(key);
    if (series === undefined) {
      series = new HttpSeries({ [HTTP_REQUEST_METHOD]: name, ...(route !== undefined && { [HTTP_ROUTE]: route }) });
      this.series.set(key, series);
    }
    return series;
  }

  async collect(): Promise<CollectionResult> {
    const groups = [...this.series.values()].flatMap(({ attributes, byStatus }) =>
      [...byStatus].map(([status, histogram]) => ({
        attributes: { ...attributes, [HTTP_RESPONSE_STATUS_CODE]: status },
        histogram,
      })),
    );
    const time = { startTime: this.startTime, endTime: hrTime(Date.now()) };
    return collected([histogramOf(REQUEST_DURATION, groups, time, FIRST_BOUNDARY)]);
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of the request, if tracing is enabled and the route has one. */
    span?: Span;
  }
}

/** Health probes would make up most of the traces. */
const WITHOUT_SPAN = /^\/health\//;

/** Measures HTTP requests. Hooks are added to routes, not to requests, so that no request needs a look-up. */
@Injectable()
export class HttpTelemetry {
  constructor(
    private readonly tracing: Tracing,
    private readonly metrics: HttpMetrics,
  ) {}

  /**
   * Call before routes are registered.
   * @param hasOwnSpan true for routes whose requests are traced elsewhere
   */
  serveOn(fastify: FastifyInstance, hasOwnSpan: (route: RouteOptions) => boolean): void {
    const { tracer } = this.tracing;
    fastify.addHook('onResponse', (request, { statusCode, elapsedTime }, done) => {
      if (request.is404) this.metrics.seriesOf(request.method, undefined).record(statusCode, elapsedTime / 1000);
      done();
    });
    fastify.addHook('onRoute', (route) => {
      measureRoute(this.metrics, route);
      if (tracer !== undefined && !WITHOUT_SPAN.test(route.url) && !hasOwnSpan(route)) traceRoute(tracer, route);
    });
  }

  /** The trace context for the work of this request; the caller's own if tracing is disabled. */
  traceContextOf(request: FastifyRequest): TraceContext | undefined {
    return request.span === undefined
      ? validTraceContext(incomingTrace(request.headers))
      : traceContextOf(request.span.spanContext());
  }
}

function measureRoute(metrics: HttpMetrics, route: RouteOptions): void {
  const byMethod = new Map([route.method].flat().map((method) => [method, metrics.seriesOf(method, route.url)]));
  route.onResponse = [
    ...[route.onResponse ?? []].flat(),
    (request, { statusCode, elapsedTime }, done) => {
      byMethod.get(request.method)?.record(statusCode, elapsedTime / 1000);
      done();
    },
  ];
}

function traceRoute(tracer: Tracer, route: RouteOptions): void {
  route.onRequest = [
    (request, _reply, done) => {
      request.span = tracer.startSpan(
        `${request.method} ${route.url}`,
        {
          kind: SpanKind.SERVER,
          attributes: {
            [HTTP_REQUEST_METHOD]: request.method,
            [HTTP_ROUTE]: route.url,
            [URL_PATH]: urlWithoutCredentials(request.url.split('?', 1)[0] ?? ''),
            [URL_SCHEME]: request.protocol,
            [REQUEST_ID]: request.id,
          },
        },
        parentOf(incomingTrace(request.headers)),
      );
      done();
    },
    ...[route.onRequest ?? []].flat(),
  ];
  route.preHandler = [
    // Reading the body loses the active context, so the hook restores it for the handler.
    (request, _reply, done) => {
      if (request.span === undefined) done();
      else context.with(trace.setSpan(context.active(), request.span), done);
    },
    ...[route.preHandler ?? []].flat(),
  ];
  route.onResponse = [
    ...[route.onResponse ?? []].flat(),
    (request, { statusCode }, done) => {
      request.span?.setAttribute(HTTP_RESPONSE_STATUS_CODE, statusCode);
      if (statusCode >= 500) {
        request.span?.setAttribute(ERROR_TYPE, String(statusCode)).setStatus({ code: SpanStatusCode.ERROR });
      }
      request.span?.end();
      done();
    },
  ];
}
