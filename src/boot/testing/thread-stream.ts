import type { UIMessageChunk } from 'ai';
import { fetch, type Headers, type Response } from 'undici';

/** A frame of the stream: its id, if it has one, and its raw data. */
export interface StreamFrame {
  id: string | undefined;
  data: string;
}

/** The chunks of a run up to `[DONE]`, with one frame id for each. */
export interface CollectedStream {
  ids: string[];
  chunks: UIMessageChunk[];
}

/** An open stream of a thread. */
export interface OpenedStream {
  status: number;
  headers: Headers;
  /** The frames as they arrive, `[DONE]` included. Can be iterated once. */
  frames(): AsyncIterable<StreamFrame>;
  /** Reads up to the first `[DONE]`. Throws if the stream ends or the time limit expires first. */
  collectUntilDone(timeoutMs?: number): Promise<CollectedStream>;
  /** The body as text, for a response that is not a stream. */
  text(): Promise<string>;
  close(): void;
}

export interface StreamOptions {
  /** Query parameters, such as `{ taskId: '…', follow: 'true' }`. */
  query?: Record<string, string>;
  lastEventId?: string;
}

/** The default time limit of every wait in the kit. */
export const PATIENCE_MS = 20_000;

/** Opens the stream of a thread over HTTP. Resolves when the response headers arrive. */
export async function openStream(
  url: string,
  org: string,
  threadId: string,
  key: string,
  { query = {}, lastEventId }: StreamOptions = {},
): Promise<OpenedStream> {
  const address = new URL(`/api/${org}/agent-runtime/threads/${threadId}/stream`, url);
  address.search = new URLSearchParams(query).toString();
  const abort = new AbortController();
  const response = await fetch(address, {
    signal: abort.signal,
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  });
  const frames = (): AsyncIterable<StreamFrame> => framesOf(response);
  return {
    status: response.status,
    headers: response.headers,
    frames,
    collectUntilDone: async (timeoutMs = PATIENCE_MS) => {
      const timer = setTimeout(() => abort.abort(new Error(`No [DONE] within ${timeoutMs} ms.`)), timeoutMs);
      try {
        return await collect(frames());
      } finally {
        clearTimeout(timer);
        abort.abort();
      }
    },
    text: () => response.text(),
    close: () => abort.abort(),
  };
}

/** Concatenates the text deltas. */
export function textOf(chunks: readonly UIMessageChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');
}

async function collect(frames: AsyncIterable<StreamFrame>): Promise<CollectedStream> {
  const ids: string[] = [];
  const chunks: UIMessageChunk[] = [];
  for await (const { id, data } of frames) {
    if (data === '[DONE]') return { ids, chunks };
    ids.push(id ?? '');
    chunks.push(JSON.parse(data) as UIMessageChunk);
  }
  throw new Error(`The stream ended after ${chunks.length} chunks without [DONE].`);
}

/** Parses the events of a Server-Sent Events body (WHATWG HTML §9.2) and skips comments. */
async function* framesOf({ body }: Response): AsyncGenerator<StreamFrame> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const blocks = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n');
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6);
      const id = lines.find((line) => line.startsWith('id: '))?.slice(4);
      if (data !== undefined) yield { id, data };
    }
  }
}
