import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import type { Connection } from '../../connections/connection.js';
import { accountKey, hasMemberAccounts } from '../../connections/connection-account.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { StartProgress } from './start-progress.js';
import { UpstreamFactory } from './upstream-factory.js';
import type { Upstream, UpstreamTool } from '../contract/upstream.js';
import { ToolPins } from '../pins/tool-pins.js';
import { UpstreamTargets } from './upstream-targets.js';

/**
 * The time limit for connecting and listing the tools, in milliseconds. The first start of a program can include its
 * download by `npx`.
 */
const TEST_TIMEOUT_MS = { http: 15_000, stdio: 60_000, custom: 15_000 } as const;

/** The result of a connection test. */
export interface ConnectionCheck {
  /** The duration of the test in milliseconds. */
  readonly latencyMs: number;
  /** How many tools were listed. */
  readonly tools: number;
  /** The negotiated MCP revision; null if the test failed before. */
  readonly protocolVersion: string | null;
  /** Why the connection does not work, in a sentence; absent if it works. */
  readonly fault?: string;
}

/** Tests connections in a new session, so that an existing session cannot hide a fault. */
@Injectable()
export class ConnectionTester {
  /** By connection and revision. */
  private readonly active = new Map<string, Promise<ConnectionCheck>>();

  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly targets: UpstreamTargets,
    private readonly upstreams: UpstreamFactory,
    private readonly pins: ToolPins,
  ) {}

  /** Connects, lists the tools, and records the result. Concurrent tests of a connection share one run. */
  test(connection: Connection): Promise<ConnectionCheck> {
    const key = `${accountKey(connection)}@${connection.revision}`;
    const known = this.active.get(key);
    if (known !== undefined) return known;
    const check = this.check(connection).finally(() => this.active.delete(key));
    this.active.set(key, check);
    return check;
  }

  private async check(connection: Connection): Promise<ConnectionCheck> {
    const start = performance.now();
    const { tools, protocolVersion, fault, isUnauthorized } = await this.probe(connection);
    const latencyMs = Math.round(performance.now() - start);
    if (tools !== undefined) {
      await this.pins.recordList(connection, tools);
      await this.directory.rememberTools(connection, tools);
    }
    // A missing authorization is no fault of the upstream.
    if (isUnauthorized !== true) await this.directory.recordHealth(connection, fault);
    return { latencyMs, tools: tools?.length ?? 0, protocolVersion: protocolVersion ?? null, fault };
  }

  private async probe(
    connection: Connection,
  ): Promise<{ tools?: UpstreamTool[]; protocolVersion?: string; fault?: string; isUnauthorized?: boolean }> {
    // The upstream can be tested only with the account of a person.
    if (hasMemberAccounts(connection) && connection.accountUserId === undefined) return {};
    let upstream: Upstream | undefined;
    let progress: StartProgress | undefined;
    try {
      const target = this.targets.targetFor(connection);
      const timeoutMs = Math.min(target.timeoutMs, TEST_TIMEOUT_MS[target.kind ?? 'http']);
      upstream = this.upstreams.create({ ...target, timeoutMs });
      progress = StartProgress.of(target, (sentence) => this.directory.recordHindrance(connection, sentence));
      const tools = await upstream.listTools();
      return { tools, protocolVersion: upstream.protocolVersion };
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === 'authorization_required') {
        return { fault: error.message, isUnauthorized: true };
      }
      if (error instanceof UpstreamError || error instanceof DomainError) return { fault: error.message };
      throw error;
    } finally {
      // The result comes after the last of it.
      await progress?.end();
      void upstream?.close();
    }
  }
}
