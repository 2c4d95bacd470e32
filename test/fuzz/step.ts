import * as fc from 'fast-check';
import { oddHeader, oddSegment } from './values.js';

/** One request, with references (`@@thread:0@@`) to what exists when it is sent. */
export interface Step {
  /** What the summary counts it under. */
  readonly label: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Its errors are JSON-RPC. */
  readonly isRpc: boolean;
  /** The answer may have no end: it is read for so long. */
  readonly holdMs?: number;
  /** The caller hangs up after so long, answered or not. */
  readonly leaveAfterMs?: number;
}

const ORGANIZATION = '@@organization:0@@';
const JSON_TYPE = { 'content-type': 'application/json' };
const BOTH = 'application/json, text/event-stream';

const authorizations = fc.oneof(
  { weight: 60, arbitrary: bearer('all') },
  { weight: 6, arbitrary: bearer('own') },
  { weight: 4, arbitrary: fc.constantFrom('narrow', 'empty', 'other', 'deleted').chain(bearer) },
  { weight: 2, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: oddHeader.map((authorization) => ({ authorization })) },
);

const uncommonHeaders = fc.oneof(
  { weight: 30, arbitrary: fc.constant({}) },
  {
    weight: 3,
    arbitrary: named(
      'x-request-id',
      fc.oneof(fc.constantFrom('fuzz-1', 'a'.repeat(128), 'a'.repeat(129), 'sbx_', '@@key-value:all@@'), oddHeader),
    ),
  },
  {
    weight: 2,
    arbitrary: named(
      'accept',
      fc.oneof(fc.constantFrom('*/*', 'text/html', 'application/json', 'text/event-stream', BOTH), oddHeader),
    ),
  },
  {
    weight: 2,
    arbitrary: named(
      'content-type',
      fc.oneof(
        fc.constantFrom(
          'application/json; charset=utf-16',
          'text/plain',
          'application/json;',
          'APPLICATION/JSON',
          'application/problem+json',
          'multipart/form-data; boundary=x',
        ),
        oddHeader,
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: named(
      'last-event-id',
      fc.oneof(
        fc.constantFrom('@@event:0@@', '@@run:0@@:1', '@@run:0@@:-1', '@@run:0@@:99999999999999999999', 'fuzz'),
        oddHeader,
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: named(
      'idempotency-key',
      fc.oneof(fc.constantFrom('k1', 'k2', 'x'.repeat(255), 'x'.repeat(256)), oddHeader),
    ),
  },
  {
    weight: 1,
    arbitrary: named(
      'mcp-session-id',
      fc.oneof(fc.constantFrom('@@session:0@@', '@@session:1@@', '@@session:0@@x'), oddHeader),
    ),
  },
  {
    weight: 1,
    arbitrary: named(
      'mcp-protocol-version',
      fc.oneof(fc.constantFrom('2024-11-05', '2025-06-18', '2025-11-25', '2026-07-28', '1999-01-01'), oddHeader),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        'mcp-method',
        'mcp-name',
        'mcp-param-x',
        'mcp-param-',
        'traceparent',
        'tracestate',
        'origin',
        'cookie',
        'x-signalbox-a',
        'content-encoding',
        'expect-nothing',
        'x-http-method-override',
        'if-none-match',
        'range',
      )
      .chain((name) => named(name, oddHeader)),
  },
);

/** Faults of a body as text. */
const textFaults: fc.Arbitrary<(body: string) => string | undefined> = fc.oneof(
  { weight: 60, arbitrary: fc.constant((body: string) => body) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<((body: string) => string | undefined)[]>(
      () => '',
      () => undefined,
      (body) => body.slice(0, -1),
      (body) => `${body}${body}`,
      (body) => `\ufeff${body}`,
      (body) => `[${body}]`,
      (body) => JSON.stringify(body),
      (body) => body.replace('{', '{"__proto__":{"x":1},'),
      (body) => body.replace('{', '{"id":1,"id":2,"\\u0069d":3,'),
      (body) => `${' '.repeat(60_000)}${body}`,
      (body) => body.replaceAll('"', "'"),
      () => '[]',
      () => 'null',
      () => '"',
      () => '@@raw:17@@',
      () => `"${'x'.repeat(1_048_600)}"`,
    ),
  },
);

const organizations = fc.oneof(
  { weight: 50, arbitrary: fc.constant(ORGANIZATION) },
  { weight: 1, arbitrary: fc.oneof(fc.constantFrom('other', 'nobody'), oddSegment) },
);
const hastes = fc.oneof(
  { weight: 60, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }) },
);

/** What is particular to a step; the rest is the same for all. */
export interface StepParts {
  readonly label: string;
  readonly method: string;
  /** With `:org` where the organization stands. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written as JSON. */
  readonly body?: unknown;
  readonly isRpc?: boolean;
  readonly holdMs?: number;
}

/** Adds a caller, an organization, uncommon headers and faults of the body. */
export function stepOf(parts: fc.Arbitrary<StepParts>): fc.Arbitrary<Step> {
  return fc
    .tuple(parts, authorizations, uncommonHeaders, organizations, textFaults, hastes)
    .map(
      ([
        { label, method, path, headers, body, isRpc = false, holdMs },
        authorization,
        uncommon,
        organization,
        spoil,
        leaveAfterMs,
      ]) => {
        const text = body === undefined ? undefined : spoil(JSON.stringify(body));
        return {
          label,
          method,
          path: path.replace(':org', organization),
          headers: {
            ...(text !== undefined && JSON_TYPE),
            ...(isRpc && { accept: BOTH }),
            ...authorization,
            ...headers,
            ...uncommon,
          },
          ...(text !== undefined && { body: text }),
          isRpc,
          ...(holdMs !== undefined && { holdMs }),
          ...(leaveAfterMs !== undefined && { leaveAfterMs }),
        };
      },
    );
}

function bearer(key: string): fc.Arbitrary<Record<string, string>> {
  return fc.constant({ authorization: `Bearer @@key-value:${key}@@` });
}

function named(name: string, values: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  return values.map((value) => ({ [name]: value }));
}
