import { messagesIn } from '../messages/messages-in.js';
import type {
  ExchangeOptions,
  OutgoingMessage,
  UpstreamAnswer,
  UpstreamChannel,
} from '../messages/upstream-channel.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { canonicalId, oneLine, progressTokenOf, readMessage } from './child-message.js';
import { EventStream } from './event-stream.js';
import { MessageRouter } from './message-router.js';
import type { ProgramLog } from './program-log.js';
import { plainAnswer, StdioExchange, streamAnswer } from './stdio-exchange.js';
import type { ProgramHolder } from './program-slots.js';
import { labelOf, type ProcessListener, type StdioProcess } from './stdio-process.js';
import type { StdioProcesses } from './stdio-processes.js';

const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');

/** Longest time for the answer to `initialize`, in milliseconds: the first start may be the time when `npx` fetches the program. */
const INITIALIZE_TIMEOUT_MS = 60_000;

/** One MCP session with a run of a program that nobody shares. Its messages are passed on as they are, a line each. */
export class StdioChannel implements UpstreamChannel, ProcessListener {
  private readonly label: string;
  private readonly router = new MessageRouter();
  private process: StdioProcess | undefined;
  private ending: { fault: UpstreamError | undefined } | undefined;

  private constructor(
    private readonly target: StdioTarget,
    private readonly onEnded: () => void,
  ) {
    this.label = labelOf(target);
  }

  /**
   * @param onEnded the run is over: this channel takes no more messages
   * @throws UpstreamError
   */
  static async open(
    processes: StdioProcesses,
    target: StdioTarget,
    holder: ProgramHolder,
    onEnded: () => void,
  ): Promise<StdioChannel> {
    const channel = new StdioChannel(target, onEnded);
    channel.process = await processes.start(target, channel, holder);
    return channel;
  }

  /** Sends a request and lets its response decide which form the answer has. One that times out is cancelled. */
  async post(message: OutgoingMessage, { signal }: ExchangeOptions): Promise<UpstreamAnswer> {
    const process = this.running();
    const line = oneLine(message.body);
    if (message.id === undefined) {
      process.write(line);
      return plainAnswer(202);
    }
    const id = canonicalId(message.id);
    if (!isReadableId(id)) return plainAnswer(400, refusal(id, 'The id of a request is a string or an integer'));
    if (this.router.has(id)) {
      return plainAnswer(400, refusal(id, 'A request with this id is under way in the session'));
    }
    if (signal.aborted) throw this.cancelled();

    const giveUp = (error: UpstreamError): void => this.giveUp(exchange, error, message.method);
    const onAbort = (): void => giveUp(this.cancelled());
    const exchange = new StdioExchange(id, progressTokenOf(message.body), onAbort);
    const isOpening = message.method === 'initialize';
    const timeoutMs = isOpening ? Math.min(INITIALIZE_TIMEOUT_MS, this.target.timeoutMs) : this.target.timeoutMs;
    const timer = setTimeout(() => giveUp(this.timedOut(timeoutMs)), timeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    process.enter();
    this.router.add(exchange, () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      process.leave();
    });
    process.write(line);
    return exchange.answer;
  }

  /** Only one stream at a time, as for the SDK's server over HTTP; what came while nobody listened comes first. */
  async listen({ signal }: ExchangeOptions): Promise<UpstreamAnswer> {
    const process = this.running();
    if (this.router.isListenedTo) return plainAnswer(409, CONFLICT);
    if (signal.aborted) throw this.cancelled();
    const stream = new EventStream();
    const hangUp = (): void => void stream.destroy();
    signal.addEventListener('abort', hangUp, { once: true });
    stream.on('error', () => undefined);
    stream.once('close', () => {
      signal.removeEventListener('abort', hangUp);
      this.router.stopListening(stream);
      process.unwatch();
    });
    process.watch();
    this.router.listen(stream);
    return streamAnswer(stream);
  }

  /** Ends the program; does not wait until it is gone. */
  async end(): Promise<UpstreamAnswer> {
    void this.process?.stop();
    return plainAnswer(200);
  }

  /** Brings a new run to where the session was: initializes it with what the caller once sent, whose answer is known. */
  async replay(initialize: OutgoingMessage): Promise<void> {
    const answer = await this.post(initialize, { signal: AbortSignal.timeout(this.target.timeoutMs) });
    let last = '';
    for await (const text of messagesIn(answer)) last = text;
    // In an event stream there is more than the response; what a program says before it is initialized matters to nobody.
    if (answer.contentType === 'application/json' && 'error' in (JSON.parse(last) as object)) {
      throw new UpstreamError('protocol', `The upstream at ${this.label} does not take its session up again.`);
    }
    this.running().write(INITIALIZED);
  }

  onLine(line: Buffer, log: ProgramLog): void {
    const message = readMessage(line);
    if (message === undefined) log.strayLine();
    else this.router.route(message, oneLine(line));
  }

  /** Passed on as it is, like the large answers of an upstream over HTTP. */
  onCostlyAnswer(id: string, line: Buffer): void {
    this.router.route({ kind: 'response', id: canonicalId(id) }, line);
  }

  onEnd(fault: UpstreamError | undefined): void {
    this.ending = { fault };
    this.router.close(this.gone());
    this.onEnded();
  }

  private giveUp(exchange: StdioExchange, error: UpstreamError, method: string | undefined): void {
    if (!this.router.remove(exchange)) return;
    exchange.fail(error);
    if (method !== 'initialize') this.process?.write(cancellationOf(exchange.id));
    // MCP 2025-11-25, cancellation: `initialize` must not be cancelled. Nobody will ever use its session.
    else if (error.kind === 'timeout') this.process?.fail('unreachable', 'did not answer `initialize` in time');
    else void this.end();
  }

  private running(): StdioProcess {
    if (this.process === undefined || this.ending !== undefined) throw this.gone();
    return this.process;
  }

  private gone(): UpstreamError {
    return this.ending?.fault ?? new UpstreamError('unreachable', `The upstream at ${this.label} was ended.`);
  }

  private cancelled(): UpstreamError {
    return new UpstreamError('cancelled', `The request to the upstream at ${this.label} was cancelled.`);
  }

  private timedOut(timeoutMs: number): UpstreamError {
    const message = `The upstream at ${this.label} did not answer within ${timeoutMs} ms.`;
    return new UpstreamError('timeout', message);
  }
}

/** What the SDK's server answers to a second GET. */
const CONFLICT = Buffer.from(
  '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Conflict: Only one SSE stream is allowed per session"},"id":null}',
);

/**
 * Would a program take the id for one? Those on the SDKs drop a message with any other without a word, and the caller would wait
 * for nothing. Beyond 2^53 an integer is none that can be told from its neighbours.
 */
function isReadableId(id: string): boolean {
  const value: unknown = JSON.parse(id);
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function refusal(id: string, message: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code: -32600, message })}}`);
}

function cancellationOf(id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
}
