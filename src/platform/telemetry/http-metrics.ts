import { Injectable } from '@nestjs/common';
import type { Attributes } from '@opentelemetry/api';
import type { CollectionResult, MetricProducer } from '@opentelemetry/sdk-metrics';
import { DURATION_BOUNDARIES, DurationHistogram } from './duration-histogram.js';
import { collected, histogramOf, hrTime } from './metric-data.js';
import { Metering } from './metering.js';
import {
  HTTP_REQUEST_DURATION,
  HTTP_REQUEST_METHOD,
  HTTP_RESPONSE_STATUS_CODE,
  HTTP_ROUTE,
  NOT_LISTED,
} from './names.js';

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
