import type { UIMessageChunk } from 'ai';
import supertest from 'supertest';
import type { RunResult } from '../../../src/runtime/turns/run-result.dto.js';
import type { CollectedStream, Endpoint, ThreadClient } from '../../support/agent-runs.js';

/** A run request that waits for the end of its run. */
export function ask(thread: ThreadClient, text: string, waitS: number, headers: object = {}): supertest.Test {
  return thread.post(thread.request(text), { headers: { prefer: `wait=${waitS}`, ...headers } });
}

/** Reads a run by its id, at any process and with any key. */
export function readRun({ url, org, apiKey }: Endpoint, taskId: string, query: string | object = {}): supertest.Test {
  return supertest(url)
    .get(`/api/${org}/agent-runtime/runs/${taskId}`)
    .set('authorization', `Bearer ${apiKey}`)
    .query(query);
}

export const resultOf = ({ body }: supertest.Response): RunResult => body as RunResult;

/** A post whose response is the stream of its run, read to the end. */
interface PostedStream extends CollectedStream {
  status: number;
  headers: Headers;
  taskId: string;
  /** The text after the last chunk. */
  ending: string;
}

/** Posts with `Accept: text/event-stream`. */
export function openPosted(
  { url, org, apiKey }: Endpoint,
  thread: ThreadClient,
  text: string,
  { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${url}/api/${org}/agent-runtime/threads/${thread.id}/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...headers,
    },
    body: JSON.stringify(thread.request(text)),
    ...(signal && { signal }),
  });
}

/** Reads the stream that is the response of a post. */
export async function collectPosted(response: Response): Promise<PostedStream> {
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  const ids: string[] = [];
  const chunks: UIMessageChunk[] = [];
  for (const frame of frames.slice(0, -1)) {
    const [, id = '', data = ''] = /^(?:id: (.*)\n)?data: (.*)$/.exec(frame) ?? [];
    ids.push(id);
    chunks.push(JSON.parse(data) as UIMessageChunk);
  }
  const { status, headers } = response;
  return { status, headers, taskId: headers.get('x-task-id') ?? '', ids, chunks, ending: frames.at(-1) ?? '' };
}
