import { Logger } from '@nestjs/common';
import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import { withTimeout } from '../../core/with-timeout.js';
import type { StateOwner } from '../contract/callers.js';
import type { OnListChanged } from '../contract/list-change.js';
import { McpSession } from './mcp-session.js';
import type { SessionTransport } from '../contract/session-transport.js';
import { SessionUpstream } from './session-upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { CustomTarget } from '../contract/upstream-target.js';

/** As much as a step of connecting may take. */
const OPEN_TIMEOUT_MS = 30_000;

/** The MCP client of an upstream whose kind a module has added: one session over the transport that the kind opens. */
export class TransportUpstream extends SessionUpstream {
  private readonly logger = new Logger(TransportUpstream.name);

  /**
   * @param onListChanged is told what the upstream says of its lists
   * @param owner whose state it holds; absent for a client that callers share
   */
  constructor(
    private readonly target: CustomTarget,
    private readonly onListChanged?: OnListChanged,
    private readonly owner?: StateOwner,
  ) {
    super(labelOf(target), target.timeoutMs);
  }

  protected async open(signal: AbortSignal): Promise<McpSession> {
    const transport = new KindTransport(await this.openTransport(), labelOf(this.target));
    try {
      const session = await McpSession.open(transport, signal, undefined, this.onListChanged, this.owner);
      // The session works without notifications.
      if (this.onListChanged !== undefined) session.subscribe(signal).catch(() => undefined);
      return session;
    } catch (error) {
      void transport.close().catch(() => undefined);
      throw transport.fault ?? error;
    }
  }

  private async openTransport(): Promise<Transport> {
    try {
      const opening = (async () => this.target.connector.openTransport(this.target.access))();
      return await withTimeout(opening, OPEN_TIMEOUT_MS, () => {
        throw new Error('The transport did not open in time.');
      });
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      // The caller is told no more than that: the message may hold a credential.
      this.logger.warn({ connection_id: this.target.connectionId, err: error }, 'An upstream could not be opened');
      throw new UpstreamError('unreachable', `The upstream at ${labelOf(this.target)} could not be opened.`);
    }
  }
}

/** What the upstream of a target is called in messages: "The upstream at <label> …". */
function labelOf({ type }: CustomTarget): string {
  return type.toLowerCase();
}

/** A transport of another module, with what a session must know of it. */
class KindTransport implements SessionTransport {
  /** The SDK resumes a session if the transport names one. */
  readonly sessionId = undefined;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  hasEnded = false;
  fault: UpstreamError | undefined;
  private isClosing = false;

  constructor(
    private readonly inner: Transport,
    private readonly label: string,
  ) {}

  async start(): Promise<void> {
    const callbacks: Pick<Transport, 'onmessage' | 'onerror' | 'onclose'> = {
      onmessage: (message, extra) => this.onmessage?.(message, extra),
      onerror: (error) => this.onerror?.(error),
      onclose: () => this.end(),
    };
    await Object.assign(this.inner, callbacks).start();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return this.inner.send(message, options);
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await this.inner.close();
    this.end();
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version);
  }

  /** Closing the transport is what ends the session. */
  async terminateSession(): Promise<void> {}

  private end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (!this.isClosing) {
      this.fault = new UpstreamError('unreachable', `The upstream at ${this.label} closed the connection.`);
    }
    this.onclose?.();
  }
}
