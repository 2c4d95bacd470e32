import { Injectable } from '@nestjs/common';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { DomainError } from '../../core/domain-error.js';
import { type Connection, accountKey, hasMemberAccounts } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { UpstreamFactory } from './upstream-factory.js';
import type { Upstream, UpstreamTool } from '../contract/upstream.js';
import { ToolPins } from '../pins/tool-pins.js';
import { UpstreamTargets } from './upstream-targets.js';
import { basename } from 'node:path';
import type { UpstreamTarget } from '../contract/upstream-target.js';

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
    private readonly rooms: AnswerRooms,
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
      const tested = this.upstreams.create({ ...target, timeoutMs });
      upstream = tested;
      progress = StartProgress.of(target, (sentence) => this.directory.recordHindrance(connection, sentence));
      const tools = await this.rooms.withOwnRoom(connection.organizationId, (room) => tested.listTools({ room }));
      return { tools, protocolVersion: tested.protocolVersion };
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

const EVERY_MS = 2_000;
/** They install a program before they start it, and print nothing meanwhile. */
const INSTALLERS: ReadonlySet<string> = new Set(['npx', 'uvx', 'bunx']);

/** Says at regular intervals that a program has not answered yet. */
class StartProgress {
  private readonly startedAt = performance.now();
  private readonly timer: NodeJS.Timeout;
  private saying: Promise<unknown> = Promise.resolve();

  /** @param say takes a sentence; a failure is ignored */
  private constructor(
    private readonly command: string,
    private readonly say: (sentence: string) => Promise<unknown>,
  ) {
    this.timer = setInterval(() => this.tick(), EVERY_MS);
  }

  /** Begins for a program; other targets answer soon or never. */
  static of(target: UpstreamTarget, say: (sentence: string) => Promise<unknown>): StartProgress | undefined {
    return target.kind === 'stdio' ? new StartProgress(target.command, say) : undefined;
  }

  /** Resolves when the last sentence has been taken. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    await this.saying;
  }

  private tick(): void {
    const seconds = Math.round((performance.now() - this.startedAt) / 1000);
    const installs = INSTALLERS.has(basename(this.command))
      ? ` ${basename(this.command)} first installs a program that is not on the machine of the service yet.`
      : '';
    const sentence = `The program has been starting for ${seconds} s.${installs}`;
    this.saying = this.say(sentence).catch(() => undefined);
  }
}
