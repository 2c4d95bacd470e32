import { ProtocolError, SdkError, SdkErrorCode, type VersionNegotiationOptions } from '@modelcontextprotocol/client';
import type { StateOwner } from '../contract/callers.js';
import type { ChangeListener, Listening, OnListChanged } from '../contract/list-change.js';
import type { ListenOptions } from '../contract/upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../messages/upstream-channel.js';
import { listenToResources } from '../notifications/resource-listener.js';
import { McpSession } from '../session/mcp-session.js';
import { SessionUpstream } from '../session/session-upstream.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { labelOf } from './stdio-process.js';
import type { StdioProcesses } from './stdio-processes.js';
import { StdioTransport } from './stdio-transport.js';
import { LRUCache } from 'lru-cache';

const MAX_PROGRAMS = 10_000;
/** A restarted program can be a newer one. A slow start, or a busy machine, can have hidden the modern era. */
const KNOWN_MS = 60 * 60_000;

/**
 * The targets whose programs have not answered in the modern era, so that for a while the next process is not probed
 * for it.
 */
export class LegacyPrograms {
  private readonly known = new LRUCache<string, true>({ max: MAX_PROGRAMS, ttl: KNOWN_MS, ttlResolution: 1_000 });

  has(target: StdioTarget): boolean {
    return this.known.has(keyOf(target));
  }

  add(target: StdioTarget): void {
    this.known.set(keyOf(target), true);
  }
}

function keyOf({ connectionId, revision }: StdioTarget): string {
  return `${connectionId}@${revision}`;
}

/** How long the probe for the modern era waits for an answer; silence means the legacy era. */
const PROBE_TIMEOUT_MS = 10_000;

const EITHER_ERA: VersionNegotiationOptions = { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT_MS } };
const LEGACY_ERA: VersionNegotiationOptions = { mode: 'legacy' };
/** For a program that supports only the modern era, and is slow to start, as when `npx` installs it. */
const SLOW_START: VersionNegotiationOptions = { mode: 'auto', probe: { timeoutMs: 60_000 } };
/** MCP 2026-07-28, "Error codes". */
const UNSUPPORTED_VERSION = -32022;

/**
 * The MCP client of one STDIO target, of either era, with a process of its own. If the process has ended, the next
 * request starts another one.
 */
export class StdioUpstream extends SessionUpstream {
  /** The latest one. */
  private transport: StdioTransport | undefined;
  private wasOpen = false;

  /**
   * @param onListChanged called when the program reports a changed list
   * @param owner whose process it is; absent for a process that callers share
   */
  constructor(
    private readonly target: StdioTarget,
    private readonly processes: StdioProcesses,
    private readonly onListChanged?: OnListChanged,
    private readonly owner?: StateOwner,
    private readonly legacy = new LegacyPrograms(),
  ) {
    super(labelOf(target), target.timeoutMs);
  }

  /**
   * Sends a request of the modern era as bytes; connects if necessary.
   * @param message with an id that is unique in the process
   * @throws UpstreamError `session_lost`, without sending it, if the program supports only the legacy era
   */
  async forward(message: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer> {
    const session =
      this.openSession ?? (await this.perform(options.signal, this.maxTimeoutMs, async (opened) => opened));
    if (this.transport === undefined || !session.isModern) {
      throw new UpstreamError(
        'session_lost',
        `The upstream at ${this.address} does not support this protocol version.`,
      );
    }
    return this.transport.forward(message, options);
  }

  protected override async listenToResources(
    session: McpSession,
    uris: readonly string[],
    listener: ChangeListener,
    options: Required<ListenOptions>,
  ): Promise<Listening | undefined> {
    const { transport } = this;
    if (transport === undefined) return undefined;
    const send = (message: OutgoingMessage, exchange: ExchangeOptions): Promise<UpstreamAnswer> =>
      transport.forward(message, exchange);
    return listenToResources(session, uris, listener, { ...options, send, lifetime: this.lifetime.signal });
  }

  /** A program that does not answer often says on standard error why, such as `npx` while it installs. */
  protected override get lastWords(): string {
    return this.transport?.lastWords ?? '';
  }

  protected async open(signal: AbortSignal): Promise<McpSession> {
    const isLegacy = this.legacy.has(this.target);
    try {
      return await this.openIn(isLegacy ? LEGACY_ERA : EITHER_ERA, signal);
    } catch (error) {
      // It has answered `initialize`, after it had been silent for the probe.
      if (!isLegacy && isUnsupportedVersion(error)) return this.openIn(SLOW_START, signal);
      if (isLegacy || !isEndOfProbe(error)) throw error;
      // Some programs of the legacy era exit if anything precedes `initialize`, which does not count as a failure.
      this.processes.forgive(this.target, { callerId: this.owner?.callerId });
      return this.openIn(LEGACY_ERA, signal);
    }
  }

  private async openIn(negotiation: VersionNegotiationOptions, signal: AbortSignal): Promise<McpSession> {
    const transport = new StdioTransport(this.target, this.processes, this.owner?.callerId);
    this.transport = transport;
    try {
      const session = await McpSession.open(transport, signal, negotiation, this.onListChanged, this.owner);
      // A failed subscription loses only change notifications.
      if (this.onListChanged !== undefined) session.subscribe(signal).catch(() => undefined);
      if (!session.isModern) this.legacy.add(this.target);
      this.reportRestart(session);
      return session;
    } catch (error) {
      void transport.close();
      throw isEndOfProbe(error) ? error : (transport.fault ?? error);
    }
  }

  /** A restarted program can have other lists. The shared one tells for the connection. */
  private reportRestart({ announcedLists }: McpSession): void {
    const { onListChanged } = this;
    const isRestart = this.wasOpen && this.owner === undefined;
    this.wasOpen = true;
    if (isRestart) announcedLists.forEach((kind) => onListChanged?.(kind));
  }
}

function isUnsupportedVersion(error: unknown): boolean {
  return error instanceof ProtocolError && error.code === UNSUPPORTED_VERSION;
}

function isEndOfProbe(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}
