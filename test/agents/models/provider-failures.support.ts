import type { ModelBehaviour } from '../../../src/boot/testing/model-server.js';

/** A behaviour of the provider, and the error of the run. */
export interface Failure {
  readonly what: string;
  readonly behaviour: ModelBehaviour;
  readonly code: string;
  readonly message: RegExp;
  readonly text?: string;
}

/** Retries are made at once. */
const AT_ONCE = { 'retry-after-ms': '1' };

export function refusal(status: number, document?: unknown, headers: Record<string, string> = {}): ModelBehaviour {
  return {
    kind: 'status',
    status,
    headers: { ...AT_ONCE, ...headers },
    ...(document === undefined ? {} : { document }),
  };
}

export function afterText(error: object): ModelBehaviour {
  return { kind: 'error-after', deltas: ['Once'], error };
}

/** What every provider does, whatever its API. */
export const ALL: readonly Failure[] = [
  {
    what: 'breaks off its stream',
    behaviour: { kind: 'break-after', deltas: ['Once'] },
    code: 'provider_unavailable',
    message: /was lost/,
    text: 'Once',
  },
  {
    what: 'ends its stream without an end',
    behaviour: { kind: 'cut-after', deltas: ['Once'] },
    code: 'provider_unavailable',
    message: /was lost/,
    text: 'Once',
  },
  {
    what: 'streams an invalid frame',
    behaviour: { kind: 'malformed-after', deltas: ['Once'] },
    code: 'provider_bad_response',
    message: /invalid response/,
    text: 'Once',
  },
];

/** A page holds no event, so the answer has no end. */
export const PAGE: Failure = {
  what: 'answers with a page',
  behaviour: { kind: 'body', body: '<html>' },
  code: 'provider_unavailable',
  message: /was lost/,
};

export const OPENAI_FAILURES: readonly Failure[] = [
  PAGE,
  {
    what: 'limits the rate',
    behaviour: refusal(429, { error: { code: '429', message: 'Retry after 7 seconds.' } }),
    code: 'provider_rate_limited',
    message: /\(HTTP 429\)\. It says: Retry after 7 seconds\.$/,
  },
  {
    what: 'has no such deployment',
    behaviour: refusal(404),
    code: 'provider_not_found',
    message: /It says: The API deployment for this resource does not exist\.$/,
  },
  {
    what: 'filters the prompt',
    behaviour: refusal(400, {
      error: { code: 'content_filter', message: 'The response was filtered.', innererror: { code: 'X' } },
    }),
    code: 'provider_rejected',
    message: /\(HTTP 400\)\. It says: The response was filtered\.$/,
  },
  {
    what: 'refuses at its gateway',
    behaviour: refusal(401, { statusCode: 401, message: 'Access denied by the gateway.' }),
    code: 'provider_unauthorized',
    message: /It says: Access denied by the gateway\.$/,
  },
];
