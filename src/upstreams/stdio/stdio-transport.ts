import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client';
import type { AnswerRoom } from '../../core/answers/answer-room.js';
import type { SessionTransport } from '../contract/session-transport.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { memoryForWhole } from '../messages/answer-body.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';
import { ROOM_OF_CALL } from '../session/call-context.js';
import { ForwardedRequests } from './forwarded-requests.js';
import type { ProgramLog } from './program-log.js';
import { labelOf, type ProcessListener, type StdioProcess } from './stdio-process.js';
import type { StdioProcesses } from './stdio-processes.js';

/** A request of the SDK's client that the program has not answered. */
interface AwaitedRequest {
  /** The room for the answer; absent: it counts towards no memory. */
  readonly room: AnswerRoom | undefined;
  readonly fail: (error: unknown) => void;
}

/**
 * A transport of the SDK over one process of a program: one line of JSON for each message (MCP 2025-11-25, stdio). In
 * the modern era, requests of callers are forwarded to the same process as bytes.
 */
export class StdioTransport implements SessionTransport {
  readonly sessionId = undefined;
  /**
   * `stderr` and `pid` mark this transport as stdio for the SDK, which then takes silence or an exit for the legacy
   * era.
   */
  readonly stderr = null;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  hasEnded = false;
  fault: UpstreamError | undefined;

  private process: StdioProcess | undefined;
  private forwarded: ForwardedRequests | undefined;
  private readonly awaited = new Map<RequestId, AwaitedRequest>();
  /** The id of the request that finds out the era. The SDK does not wait for its answer once it sends `initialize`. */
  private probeId: RequestId | undefined;
  private delivered: Promise<void> = Promise.resolve();

  constructor(
    private readonly target: StdioTarget,
    private readonly processes: StdioProcesses,
    private readonly callerId?: string,
  ) {}

  get pid(): number | null {
    return this.process?.pid ?? null;
  }

  /** The end of the program's standard error, as a sentence that continues a message. */
  get lastWords(): string {
    return this.process?.lastWords ?? '';
  }

  async start(): Promise<void> {
    const { organizationId, connectionId } = this.target;
    const listener: ProcessListener = {
      onLine: (line, log) => this.receive(line, log),
      onCostlyAnswer: (id, line) => {
        if (this.forwarded?.takeAnswer(id, line) !== true) this.receive(refusalOf(id), undefined);
      },
      onEnd: (fault) => this.end(fault),
    };
    const process = await this.processes.start(this.target, listener, {
      organizationId,
      connectionId,
      callerId: this.callerId,
    });
    this.process = process;
    this.forwarded = new ForwardedRequests(process, labelOf(this.target), this.callerId === undefined);
    // The transport may have been closed in the meantime.
    if (this.hasEnded) await process.stop();
  }

  /**
   * For a request, stays pending, because the SDK waits only for its failure.
   * @throws DomainError `answer_memory_exhausted` if there is no room for the answer
   */
  async send(message: JSONRPCMessage): Promise<void> {
    const line = Buffer.from(JSON.stringify(message));
    if (this.process?.write(line) !== true) throw new SdkError(SdkErrorCode.NotConnected, 'The program has ended');
    // A subscription does not count as active, so that it does not keep an unused program running.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') {
      if (message.method === 'server/discover') this.probeId = message.id;
      else if (message.method === 'initialize') this.settle(this.probeId);
      const { promise, reject: fail } = Promise.withResolvers<void>();
      this.awaited.set(message.id, { room: ROOM_OF_CALL.getStore(), fail });
      this.process.enter();
      await promise;
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.settle(message.params?.['requestId'] as RequestId);
    }
  }

  /** Sends a request of a caller, with an id that is unique in the process. @throws UpstreamError */
  async forward(message: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer> {
    if (this.forwarded === undefined || this.hasEnded) throw this.endedError();
    return this.forwarded.send(message, options);
  }

  watch(): () => void {
    const { process } = this;
    process?.watch();
    return () => process?.unwatch();
  }

  async close(): Promise<void> {
    this.end(undefined);
    await this.process?.stop();
  }

  /** Nothing to send: over stdio, closing the input ends a session. */
  async terminateSession(): Promise<void> {}

  private receive(line: Buffer, log: ProgramLog | undefined): void {
    if (this.forwarded?.take(line) === true) return;
    const message = parse(line);
    if (message === undefined) return log?.strayLine();
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      // The SDK takes an id that is a number also as text.
      const request = this.settle(message.id) ?? this.settle(Number(message.id));
      try {
        request?.room?.reserve(memoryForWhole(line));
      } catch (error) {
        return request?.fail(error);
      }
    }
    // The SDK handles a notification one turn later than a response. Sequential delivery keeps their order.
    this.delivered = this.delivered.then(() => this.onmessage?.(message));
  }

  private settle(id: RequestId | undefined): AwaitedRequest | undefined {
    const request = id === undefined ? undefined : this.awaited.get(id);
    if (id !== undefined && this.awaited.delete(id)) this.process?.leave();
    return request;
  }

  private end(fault: UpstreamError | undefined): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.fault = fault;
    this.forwarded?.close(this.endedError());
    this.onclose?.();
  }

  private endedError(): UpstreamError {
    return this.fault ?? new UpstreamError('unreachable', `The upstream at ${labelOf(this.target)} was stopped.`);
  }
}

/** The error that replaces an answer that is too costly to parse. @param id JSON text */
function refusalOf(id: string): Buffer {
  const message = "The program's answer is too large to parse. Use a session (`initialize`), or request less.";
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":${JSON.stringify(message)}}}`);
}

function parse(line: Buffer): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    const isMessage =
      isJSONRPCResultResponse(value) ||
      isJSONRPCErrorResponse(value) ||
      isJSONRPCNotification(value) ||
      isJSONRPCRequest(value);
    return isMessage ? value : undefined;
  } catch {
    return undefined;
  }
}
