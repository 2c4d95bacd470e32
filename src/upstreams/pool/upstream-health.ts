import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../core/domain-error.js';
import type { Connection } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { ConnectionTester } from './connection-tester.js';
import { UpstreamError, type UpstreamErrorKind } from '../contract/upstream-error.js';

/** The number of consecutive failures that opens the breaker. */
const FAILURES_TO_OPEN = 5;
/** Milliseconds until the first probe; doubled after each failed probe. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
/**
 * Above this number, the breaker that was used longest ago is forgotten, so that failures elsewhere reset none in use.
 */
const MAX_CIRCUITS = 10_000;

/**
 * Failures of the upstream itself. Other errors can be caused by one caller, who must not block the upstream for all.
 */
const FAILURES: ReadonlySet<UpstreamErrorKind> = new Set<UpstreamErrorKind>(['unreachable', 'refused_address']);
const FAILURE_STATUSES: ReadonlySet<number> = new Set([401, 502, 503, 504]);

/** The failures of one connection in this process. */
interface Circuit {
  readonly revision: number;
  failures: number;
  /** While open: when the next probe starts, in milliseconds since the epoch. */
  retryAt?: number;
  pauseMs: number;
  probe?: NodeJS.Timeout;
}

/**
 * A circuit breaker for each connection. After repeated failures, it refuses calls without contacting the upstream,
 * sets the connection's status to `error`, and probes in the background until a probe succeeds and closes the breaker.
 */
@Injectable()
export class UpstreamHealth implements OnApplicationShutdown {
  private readonly logger = new Logger(UpstreamHealth.name);
  private readonly circuits = new LRUCache<string, Circuit>({
    max: MAX_CIRCUITS,
    dispose: ({ probe }) => clearTimeout(probe),
  });

  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly tester: ConnectionTester,
  ) {}

  /**
   * Does the work unless the breaker is open, and records its success or failure.
   * @throws DomainError `connection_unavailable` with `Retry-After`, and what the work throws
   */
  async watchCall<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
    this.requireClosed(connection);
    try {
      const result = await work();
      if (this.circuits.size > 0 || connection.status === 'error') this.noteSuccess(connection);
      return result;
    } catch (error) {
      if (error instanceof UpstreamError && isFailure(error)) this.noteFailure(connection, error.message);
      throw error;
    }
  }

  onApplicationShutdown(): void {
    this.circuits.clear();
  }

  private requireClosed(connection: Connection): void {
    const retryAt = this.circuitOf(connection)?.retryAt;
    if (retryAt === undefined) return;
    const seconds = Math.max(1, Math.ceil((retryAt - Date.now()) / 1000));
    throw new DomainError(
      'connection_unavailable',
      'The upstream has failed repeatedly. Calls are refused until it works again.',
      [],
      { headers: { 'retry-after': String(seconds) } },
    );
  }

  private noteSuccess(connection: Connection): void {
    const circuit = this.circuitOf(connection);
    // While the breaker is open, only the probe closes it; this call began before.
    if (circuit?.retryAt !== undefined) return;
    this.circuits.delete(connection.id);
    if (connection.status === 'error') this.record(connection, undefined);
  }

  private noteFailure(connection: Connection, reason: string): void {
    const circuit = this.circuitOf(connection) ?? this.newCircuit(connection);
    circuit.failures++;
    if (circuit.failures < FAILURES_TO_OPEN || circuit.retryAt !== undefined) return;
    this.record(connection, reason);
    this.open(connection, circuit);
  }

  private open(connection: Connection, circuit: Circuit): void {
    circuit.retryAt = Date.now() + circuit.pauseMs;
    circuit.probe = setTimeout(() => void this.probe(connection, circuit), circuit.pauseMs).unref();
    circuit.pauseMs = Math.min(circuit.pauseMs * 2, LONGEST_PAUSE_MS);
  }

  private async probe(connection: Connection, circuit: Circuit): Promise<void> {
    const isCurrent = (): boolean => this.circuits.peek(connection.id) === circuit;
    try {
      const current = await this.directory.findConnection(connection.organizationId, connection.id);
      const isGone = current?.revision !== circuit.revision || current.status === 'inactive';
      const fault = isGone ? undefined : (await this.tester.test(current)).fault;
      if (!isCurrent()) return;
      if (fault === undefined) this.circuits.delete(connection.id);
      else this.open(connection, circuit);
    } catch (error) {
      this.logger.warn({ connection_id: connection.id, err: error }, 'Could not probe a connection');
      if (isCurrent()) this.open(connection, circuit);
    }
  }

  private circuitOf({ id, revision }: Connection): Circuit | undefined {
    const circuit = this.circuits.get(id);
    return circuit?.revision === revision ? circuit : undefined;
  }

  private newCircuit({ id, revision }: Connection): Circuit {
    const circuit: Circuit = { revision, failures: 0, pauseMs: FIRST_PAUSE_MS };
    this.circuits.set(id, circuit);
    return circuit;
  }

  private record(connection: Connection, fault: string | undefined): void {
    this.directory.recordHealth(connection, fault).catch((error: Error) => {
      this.logger.warn({ connection_id: connection.id, err: error }, 'Could not record the status of a connection');
    });
  }
}

function isFailure({ kind, status }: UpstreamError): boolean {
  return status === undefined ? FAILURES.has(kind) : FAILURE_STATUSES.has(status);
}
