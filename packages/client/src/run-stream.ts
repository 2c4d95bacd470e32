import type { Chunk } from './api.js';
import { readFrames } from './event-frames.js';
import { backoffMs, pause } from './http.js';
import { SignalboxError } from './signalbox-error.js';

/** Where to continue a stream. */
export interface StreamPosition {
  readonly taskId: string | undefined;
  readonly lastEventId: string | undefined;
}

const SILENCE_MS = 60_000;

/**
 * The answer of one run, as it arrives: `for await (const chunk of stream) …`. Reconnects after a broken connection and
 * continues exactly after the last chunk. Read it once.
 */
export class RunStream implements AsyncIterable<Chunk> {
  /** The run. Undefined while a stream of an idle thread waits for the next run. */
  taskId: string | undefined;
  /** The position of the last chunk. Another process can continue from here. */
  lastEventId: string | undefined;

  constructor(
    private readonly first: Response,
    private readonly reopen: (position: StreamPosition) => Promise<Response>,
    private readonly options: {
      readonly retries: number;
      readonly signal?: AbortSignal | undefined;
      /** The position that `first` begins after. */
      readonly lastEventId?: string | undefined;
    },
  ) {
    this.lastEventId = options.lastEventId;
    this.taskId = first.headers.get('x-task-id') ?? undefined;
  }

  /**
   * @throws SignalboxError `stream_expired` if the connection was broken for longer than the stream is available; then
   *   read the
   * result of the run
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk, void, undefined> {
    let response: Response | undefined = this.first;
    for (let attempt = 0; ;) {
      try {
        response ??= await this.reopen(this);
        for await (const { id, data } of readFrames(bodyOf(response), SILENCE_MS)) {
          attempt = 0;
          if (data === '[DONE]') return;
          this.lastEventId = id ?? this.lastEventId;
          this.taskId ??= id?.split(':', 1)[0];
          yield JSON.parse(data) as Chunk;
        }
        throw new Error('The stream ended before its end.');
      } catch (error) {
        const { signal, retries } = this.options;
        if (signal?.aborted || error instanceof SignalboxError || ++attempt > retries) throw error;
        await pause(backoffMs(attempt), signal);
      }
      response = undefined;
    }
  }

  /** Reads the rest. @returns the text of the answer, without that of repeated steps */
  async text(): Promise<string> {
    let finished = '';
    let step = '';
    for await (const chunk of this) {
      if (chunk.type === 'text-delta') step += chunk.delta;
      else if (chunk.type === 'reset-step') step = '';
      else if (chunk.type === 'finish-step') [finished, step] = [finished + step, ''];
      else if (chunk.type === 'error') throw new Error(chunk.errorText);
    }
    return finished + step;
  }
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (response.body === null) throw new Error('The response has no body.');
  return response.body;
}
