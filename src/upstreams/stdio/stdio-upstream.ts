import { SdkError, SdkErrorCode, type VersionNegotiationOptions } from '@modelcontextprotocol/client';
import type { OnListChanged } from '../contract/list-change.js';
import { McpSession } from '../session/mcp-session.js';
import { SessionUpstream } from '../session/session-upstream.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { LegacyPrograms } from './legacy-programs.js';
import { labelOf } from './stdio-process.js';
import type { StdioProcesses } from './stdio-processes.js';
import { StdioTransport } from './stdio-transport.js';

/** How long the probe for the modern era waits for an answer; silence means the legacy era. */
const PROBE_TIMEOUT_MS = 10_000;

const EITHER_ERA: VersionNegotiationOptions = { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT_MS } };
const LEGACY_ERA: VersionNegotiationOptions = { mode: 'legacy' };

/**
 * The MCP client of one STDIO target, of either era, with a process of its own. If the process has ended, the next
 * request starts another one.
 */
export class StdioUpstream extends SessionUpstream {
  /** The latest one. */
  private transport: StdioTransport | undefined;

  /**
   * @param onListChanged called when the program reports a changed list
   * @param callerId whose quota the process uses; absent for a process that callers share
   */
  constructor(
    private readonly target: StdioTarget,
    private readonly processes: StdioProcesses,
    private readonly onListChanged?: OnListChanged,
    private readonly callerId?: string,
    private readonly legacy = new LegacyPrograms(),
  ) {
    super(labelOf(target), target.timeoutMs);
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
      if (isLegacy || !isEndOfProbe(error)) throw error;
      // Some programs of the legacy era exit if anything precedes `initialize`, which does not count as a failure.
      this.processes.forgive(this.target, { callerId: this.callerId });
      return this.openIn(LEGACY_ERA, signal);
    }
  }

  private async openIn(negotiation: VersionNegotiationOptions, signal: AbortSignal): Promise<McpSession> {
    const transport = new StdioTransport(this.target, this.processes, this.callerId);
    this.transport = transport;
    try {
      const session = await McpSession.open(transport, signal, negotiation, this.onListChanged);
      // A failed subscription loses only change notifications.
      if (this.onListChanged !== undefined) session.subscribe(signal).catch(() => undefined);
      // A program does not change its era, so the next process skips the probe.
      if (!session.isModern) this.legacy.add(this.target);
      return session;
    } catch (error) {
      void transport.close();
      throw isEndOfProbe(error) ? error : (transport.fault ?? error);
    }
  }
}

function isEndOfProbe(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}
