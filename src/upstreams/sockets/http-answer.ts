import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import { MAX_REMAINDER_BYTES, REMAINDER_TIMEOUT_MS } from './remainders.js';
import { type AnswerBody, GATHERED_BYTES } from '../messages/answer-body.js';
import type { ExchangeOptions } from '../messages/upstream-channel.js';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The answer to an HTTP request, once its header section is there and as much of the body as was waited for. */
export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Headers;
  readonly body: AnswerBody;
}

/** What becomes of an answer that nobody wants to its end. */
export interface RemainderOptions {
  /**
   * Takes a place among the answers whose rest is read when nobody wants it any more; undefined when there is none. Without it,
   * the connection is closed at once.
   */
  readonly remain?: () => (() => void) | undefined;
  /** Is the rest read also when the request was given up? Only where closing the connection tells the upstream nothing. */
  readonly remainsWhenStopped?: boolean;
  /** Called once, when nobody waits for anything of the answer any longer. */
  readonly onOver?: () => void;
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
  private onOver: (() => void) | undefined;
  /** While the rest of the answer is read away. */
  private remainder: { left: number; readonly giveBack: () => void; readonly timer: NodeJS.Timeout } | undefined;

  /** @param exchange says when to give up: the request, or the body if that is still on its way */
  constructor(
    exchange: Pick<ExchangeOptions, 'signal' | 'onStop'>,
    private readonly options: RemainderOptions = {},
  ) {
    const stop = (): void => this.stop();
    this.onOver = options.onOver;
    if (exchange.onStop !== undefined) {
      exchange.onStop(stop);
      return;
    }
    const { signal } = exchange;
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
    if (this.remainder !== undefined) return;
    if (String(headers['content-type']).toLowerCase().startsWith('text/event-stream')) this.handOver();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.size += chunk.length;
    const { remainder } = this;
    if (remainder !== undefined) {
      remainder.left -= chunk.length;
      if (remainder.left < 0) controller.abort(new errors.RequestAbortedError());
      return;
    }
    if (this.stream !== undefined) {
      if (!this.stream.push(chunk)) controller.pause();
      return;
    }
    this.chunks.push(chunk);
    if (this.size > GATHERED_BYTES) this.handOver();
  }

  onResponseEnd(): void {
    this.end();
    if (this.isStopped) return;
    const [first, second] = this.chunks;
    if (this.stream !== undefined) this.stream.push(null);
    else this.resolve(first !== undefined && second === undefined ? first : Buffer.concat(this.chunks));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end();
    if (this.stream !== undefined) this.stream.destroy(error);
    else if (this.status === 0 || this.isStopped) this.settling.reject(error);
    else this.resolve(brokenOff(this.chunks, error));
  }

  /** What there is of the body, and what comes, as a stream. */
  private handOver(): void {
    const { controller } = this;
    this.stream = new Readable({
      read: () => controller?.resume(),
      destroy: (error, done) => {
        const isOver = this.hasEnded || this.remainder !== undefined;
        // A reader that leaves its loop destroys the stream with an error too.
        if (!isOver && (this.isStopped || !this.readAway())) controller?.abort(new errors.RequestAbortedError());
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
    const reason = new errors.RequestAbortedError();
    this.isStopped = true;
    const isRead = this.options.remainsWhenStopped === true && this.controller !== undefined && this.readAway();
    if (this.stream?.destroyed === false) this.stream.destroy(reason);
    else if (!isRead) this.controller?.abort(reason);
    // A request that waits for a connection is given up when it gets one.
    if (isRead || this.controller === undefined) this.settling.reject(reason);
  }

  /** Nobody wants the rest, but the connection may be used again when it has been read. False if that is not worth it. */
  private readAway(): boolean {
    if (this.remainder !== undefined) return true;
    if (this.lengthLeft > MAX_REMAINDER_BYTES) return false;
    const giveBack = this.options.remain?.();
    if (giveBack === undefined) return false;
    const giveUp = (): void => this.controller?.abort(new errors.RequestAbortedError());
    const timer = setTimeout(giveUp, REMAINDER_TIMEOUT_MS).unref();
    this.remainder = { left: MAX_REMAINDER_BYTES, giveBack, timer };
    this.over();
    this.controller?.resume();
    return true;
  }

  /** Of the body, in bytes, as far as the upstream has said how long it is. */
  private get lengthLeft(): number {
    const length = Number(this.headers['content-length']);
    return Number.isNaN(length) ? 0 : length - this.size;
  }

  private end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.stopListening?.();
    clearTimeout(this.remainder?.timer);
    this.remainder?.giveBack();
    this.over();
  }

  private over(): void {
    this.onOver?.();
    this.onOver = undefined;
  }
}

function brokenOff(chunks: readonly Buffer[], error: Error): Readable {
  const body = async function* (): AsyncGenerator<Buffer> {
    yield* chunks;
    throw error;
  };
  return Readable.from(body(), { objectMode: false });
}
