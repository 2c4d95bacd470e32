import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { ChatAnswer, type ChatRequest } from '../../../src/boot/testing/chat-completions.js';
import type { ModelApi, ReceivedRequest, StreamedAnswer } from '../../../src/boot/testing/model-server.js';
import { ResponsesAnswer } from './responses-answer.js';

/** The part of a request that tests read: of the responses API, or of chat completions. */
export interface AzureRequest extends Partial<ChatRequest> {
  model: string;
  input?: { role?: string; type?: string; content?: unknown; call_id?: string; output?: unknown }[];
}

const RESPONSES = '/openai/v1/responses';
const DEPLOYMENT = /^\/openai\/deployments\/[^/]+\/chat\/completions\?api-version=\d{4}-\d{2}-\d{2}(?:-preview)?$/;

/**
 * A resource of Azure OpenAI: the responses API of `v1`, and the chat completions of deployments with a dated version.
 */
export class AzureApi implements ModelApi<AzureRequest> {
  readonly basePath = '';

  constructor(private readonly apiKey: string) {}

  refusalOf({ method, path, headers }: ReceivedRequest): number | undefined {
    if (method !== 'POST' || (path !== RESPONSES && !DEPLOYMENT.test(path))) return 404;
    return headers['api-key'] === this.apiKey ? undefined : 401;
  }

  errorDocument(status: number, headers: IncomingHttpHeaders): unknown {
    const message =
      status === 404
        ? 'The API deployment for this resource does not exist.'
        : `Access denied due to invalid subscription key ${String(headers['api-key'])}.`;
    return { error: { code: status === 404 ? 'DeploymentNotFound' : String(status), message } };
  }

  answer(response: ServerResponse, { path, body }: { path: string; body: AzureRequest }): StreamedAnswer {
    return path === RESPONSES ? new ResponsesAnswer(response, body.model) : new ChatAnswer(response, body.model);
  }
}
