import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { ModelApi, ReceivedRequest, StreamedAnswer } from '../../../src/boot/testing/model-server.js';
import { ResponsesAnswer } from './responses-answer.js';

/** OpenAI's responses API. */
export class OpenAiApi implements ModelApi<Record<string, unknown>> {
  readonly basePath = '/v1';

  constructor(private readonly apiKey: string) {}

  refusalOf({ method, path, headers }: ReceivedRequest): number | undefined {
    if (method !== 'POST' || path !== '/v1/responses') return 404;
    return headers.authorization === `Bearer ${this.apiKey}` ? undefined : 401;
  }

  errorDocument(status: number, { authorization = 'no key' }: IncomingHttpHeaders): unknown {
    return { error: { message: `No answer to ${authorization}`, type: 'fake_error', param: null, code: `${status}` } };
  }

  answer(response: ServerResponse, { body }: { body: Record<string, unknown> }): StreamedAnswer {
    return new ResponsesAnswer(response, String(body['model']));
  }
}
