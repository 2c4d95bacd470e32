import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import { type AnswerBody, GATHERED_BYTES } from './answer-body.js';
import type { ExchangeOptions } from './upstream-channel.js';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The answer to an HTTP request, once its header section is there and as much of the body as was waited for. */
export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Headers;
  readonly body: AnswerBody;
}

/**
 * Takes in the answer to one request of undici's `dispatch`. An event stream is handed over as it begins, anything else when
 * it is complete or too large to be waited for. Small answers need no stream that way, which costs more than all the rest
 * of reading them.
 */
export class HttpAnswerReader implements Dispatcher.DispatchHandler {
  private readonly settling = Promise.withResolvers<HttpAnswer>();
  private controller: Dispatcher.DispatchController | undefined;
  private status = 0;
  private headers: Headers = {};
  private chunks: Buffer[] = [];
  private size = 0;
  private stream: Readable | undefined;
  private isStopped = false;
  private hasEnded = false;
  private stopListening: (() => void) | undefined;

  /** @param options say when to give up: the request, or the body if that is still on its way */
  constructor(options: Pick<ExchangeOptions, 'signal' | 'onStop'>) {
    const stop = (): void => this.stop();
    if (options.onStop !== undefined) {
      options.onStop(stop);
      return;
    }
    const { signal } = options;
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    this.stopListening = () => signal.removeEventListener('abort', stop);
  }

  /** Rejects with what undici says as long as there is no header section; later it is the body that fails. */
  get answer(): Promise<HttpAnswer> {
    return this.settling.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isStopped) controller.abort(new errors.RequestAbortedError());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 1xx announce the answer (RFC 9110 §15.2).
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    if (String(headers['content-type']).toLowerCase().startsWith('text/event-stream')) this.handOver();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.stream !== undefined) {
      if (!this.stream.push(chunk)) controller.pause();
      return;
    }
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size > GATHERED_BYTES) this.handOver();
  }

  onResponseEnd(): void {
    this.end();
    const [first, second] = this.chunks;
    if (this.stream !== undefined) this.stream.push(null);
    else this.resolve(first !== undefined && second === undefined ? first : Buffer.concat(this.chunks));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end();
    if (this.stream !== undefined) this.stream.destroy(error);
    else if (this.status === 0) this.settling.reject(error);
    else this.resolve(brokenOff(this.chunks, error));
  }

  /** What there is of the body, and what comes, as a stream. */
  private handOver(): void {
    const { controller } = this;
    this.stream = new Readable({
      read: () => controller?.resume(),
      destroy: (error, done) => {
        if (!this.hasEnded) controller?.abort(error ?? new errors.RequestAbortedError());
        done(error);
      },
    });
    for (const chunk of this.chunks) this.stream.push(chunk);
    this.chunks = [];
    this.resolve(this.stream);
  }

  private resolve(body: AnswerBody): void {
    // One that is given up before anybody reads it fails as well, and without a listener that would end this process.
    if (body instanceof Readable) body.on('error', () => undefined);
    this.settling.resolve({ status: this.status, headers: this.headers, body });
  }

  private stop(): void {
    if (this.hasEnded) return;
    this.isStopped = true;
    const reason = new errors.RequestAbortedError();
    if (this.stream !== undefined) this.stream.destroy(reason);
    else this.controller?.abort(reason);
    // A request that waits for a connection is given up when it gets one.
    if (this.controller === undefined) this.settling.reject(reason);
  }

  private end(): void {
    this.hasEnded = true;
    this.stopListening?.();
  }
}

function brokenOff(chunks: readonly Buffer[], error: Error): Readable {
  const body = async function* (): AsyncGenerator<Buffer> {
    yield* chunks;
    throw error;
  };
  return Readable.from(body(), { objectMode: false });
}
