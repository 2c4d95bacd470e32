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
import type { SessionTransport } from '../contract/session-transport.js';
import type { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import type { ProgramLog } from './program-log.js';
import type { ProcessListener, StdioProcess } from './stdio-process.js';
import type { StdioProcesses } from './stdio-processes.js';

/** A transport of the SDK over one run of a program: a line of JSON for each message (MCP 2025-11-25, stdio). */
export class StdioTransport implements SessionTransport {
  readonly sessionId = undefined;
  /** That there are `stderr` and `pid` tells the SDK that this is stdio: silence or an end then mean the legacy era. */
  readonly stderr = null;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  hasEnded = false;
  fault: UpstreamError | undefined;

  private process: StdioProcess | undefined;
  private readonly awaited = new Set<RequestId>();
  private delivered: Promise<void> = Promise.resolve();

  constructor(
    private readonly target: StdioTarget,
    private readonly processes: StdioProcesses,
  ) {}

  get pid(): number | null {
    return this.process?.pid ?? null;
  }

  async start(): Promise<void> {
    const { organizationId, connectionId } = this.target;
    const listener: ProcessListener = {
      onLine: (line, log) => this.receive(line, log),
      onCostlyAnswer: (id) => this.receive(refusalOf(id), undefined),
      onEnd: (fault) => this.end(fault),
    };
    const process = await this.processes.start(this.target, listener, { organizationId, connectionId });
    this.process = process;
    // It may have been closed meanwhile.
    if (this.hasEnded) await process.stop();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const line = Buffer.from(JSON.stringify(message));
    if (this.process?.write(line) !== true) throw new SdkError(SdkErrorCode.NotConnected, 'The program has ended');
    // Nobody waits for the end of a subscription: it must not keep an unused program running.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') {
      this.awaited.add(message.id);
      this.process.enter();
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.settle(message.params?.['requestId'] as RequestId);
    }
  }

  async close(): Promise<void> {
    this.end(undefined);
    await this.process?.stop();
  }

  /** There is nothing to tell: closing its input is what ends a session over stdio. */
  async terminateSession(): Promise<void> {}

  private receive(line: Buffer, log: ProgramLog | undefined): void {
    const message = parse(line);
    if (message === undefined) return log?.strayLine();
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.settle(message.id);
    // The SDK handles a notification a turn later than a response: one after the other, they stay in their order.
    this.delivered = this.delivered.then(() => this.onmessage?.(message));
  }

  private settle(id: RequestId | undefined): void {
    if (id !== undefined && this.awaited.delete(id)) this.process?.leave();
  }

  private end(fault: UpstreamError | undefined): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.fault = fault;
    this.onclose?.();
  }
}

/** What stands in for an answer that must not be parsed. @param id JSON text */
function refusalOf(id: string): Buffer {
  const message = 'The program answered with more than can be parsed: use a session (`initialize`), or ask for less.';
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
