import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import { type AnswerBody, GATHERED_BYTES } from '../messages/answer-body.js';
import type { ExchangeOptions } from '../messages/upstream-channel.js';

/** Up to this many bytes, draining an answer is cheaper than a new connection with its handshakes. */
const MAX_REMAINDER_BYTES = 256 * 1024;
/**
 * The time limit for draining, in milliseconds. Servers on the official SDKs end a stream a few milliseconds after the
 * answer.
 */
const REMAINDER_TIMEOUT_MS = 1_000;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The answer to an HTTP request, once its header section and the buffered part of its body have arrived. */
export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Headers;
  readonly body: AnswerBody;
}

/** How the unread rest of an answer is handled. */
interface RemainderOptions {
  /**
   * Takes a place among the answers whose unread rest is drained; returns undefined if there is none. Without it, the
   * connection is closed at once.
   */
  readonly takeDrainPlace?: () => (() => void) | undefined;
  /**
   * True if the rest is also drained after an abort, because closing the connection does not cancel the request at the
   * upstream.
   */
  readonly drainWhenStopped?: boolean;
  /** Called once, when the answer is no longer needed. */
  readonly onOver?: () => void;
}

/**
 * Reads the answer to one request of undici's `dispatch`. An event stream is delivered from its first byte, any other
 * body once it is complete or too large to buffer. Small answers therefore need no stream, which would cost more than
 * the rest of reading them.
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
  /** Set while the rest of the answer is drained. */
  private remainder: { left: number; readonly giveBack: () => void; readonly timer: NodeJS.Timeout } | undefined;

  /** @param exchange aborts the request, or the body if it is still arriving */
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

  /** Rejects with undici's error before the header section has arrived; later, the body fails instead. */
  get answer(): Promise<HttpAnswer> {
    return this.settling.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isStopped) controller.abort(new errors.RequestAbortedError());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 1xx precede the answer (RFC 9110 §15.2).
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    if (this.remainder !== undefined) return;
    if (String(headers['content-type']).toLowerCase().startsWith('text/event-stream')) this.startStream();
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
    if (this.size > GATHERED_BYTES) this.startStream();
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

  /** Delivers the body as a stream. */
  private startStream(): void {
    const { controller } = this;
    this.stream = new Readable({
      read: () => controller?.resume(),
      destroy: (error, done) => {
        const isOver = this.hasEnded || this.remainder !== undefined;
        // A reader that leaves its loop also destroys the stream with an error.
        if (!isOver && (this.isStopped || !this.drain())) controller?.abort(new errors.RequestAbortedError());
        done(error);
      },
    });
    for (const chunk of this.chunks) this.stream.push(chunk);
    this.chunks = [];
    this.resolve(this.stream);
  }

  private resolve(body: AnswerBody): void {
    // A stream that is destroyed before it is read emits an error too, which would end the process without a listener.
    if (body instanceof Readable) body.on('error', () => undefined);
    this.settling.resolve({ status: this.status, headers: this.headers, body });
  }

  private stop(): void {
    if (this.hasEnded) return;
    const reason = new errors.RequestAbortedError();
    this.isStopped = true;
    const isRead = this.options.drainWhenStopped === true && this.controller !== undefined && this.drain();
    if (this.stream?.destroyed === false) this.stream.destroy(reason);
    else if (!isRead) this.controller?.abort(reason);
    // A request that waits for a connection is aborted when it gets one.
    if (isRead || this.controller === undefined) this.settling.reject(reason);
  }

  /** Drains the rest of the answer, so that the connection can be reused. Returns false if that is not worthwhile. */
  private drain(): boolean {
    if (this.remainder !== undefined) return true;
    if (this.remainingLength > MAX_REMAINDER_BYTES) return false;
    const giveBack = this.options.takeDrainPlace?.();
    if (giveBack === undefined) return false;
    const giveUp = (): void => this.controller?.abort(new errors.RequestAbortedError());
    const timer = setTimeout(giveUp, REMAINDER_TIMEOUT_MS).unref();
    this.remainder = { left: MAX_REMAINDER_BYTES, giveBack, timer };
    this.notifyOver();
    this.controller?.resume();
    return true;
  }

  /** How many bytes of the body are left, if the upstream declared its length. */
  private get remainingLength(): number {
    const length = Number(this.headers['content-length']);
    return Number.isNaN(length) ? 0 : length - this.size;
  }

  private end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.stopListening?.();
    clearTimeout(this.remainder?.timer);
    this.remainder?.giveBack();
    this.notifyOver();
  }

  private notifyOver(): void {
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
