import { stat } from 'node:fs/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { UpstreamError } from '../upstream-error.js';
import type { StdioTarget } from '../upstream-target.js';
import { groupMemory } from './group-memory.js';
import { RestartBackoff } from './restart-backoff.js';
import { labelOf, type ProcessListener, StdioProcess } from './stdio-process.js';

export interface StdioLimits {
  /** Programs at once, shared ones and those of sessions together. */
  readonly maxProcesses: number;
  /** Milliseconds without use after which a program is ended. */
  readonly idleMs: number;
  /** Resident bytes of one program with its child processes. */
  readonly maxMemoryBytes: number;
  /** What every program finds in its environment. */
  readonly environment: Readonly<Record<string, string>>;
}

const LONGEST_SWEEP_MS = 2_000;

/**
 * The programs of this process's STDIO connections: bounded in number, memory and idle time, restarted with a growing pause
 * when they fail, and ended with everything that they started when this process ends.
 */
@Injectable()
export class StdioProcesses implements OnApplicationShutdown {
  private readonly logger = new Logger(StdioProcesses.name);
  private readonly running = new Set<StdioProcess>();
  private readonly backoff = new RestartBackoff();
  /** Starts that have a place, but no process yet. */
  private starting = 0;
  private sweeping: NodeJS.Timeout | undefined;
  private isShutDown = false;
  private readonly killAll = (): void => this.running.forEach((program) => program.kill());

  constructor(private readonly limits: StdioLimits) {}

  /**
   * Starts the program of a target. Its output goes to `listener` from the first line on.
   * @throws UpstreamError `busy` when too many run, `unreachable` when it cannot be started, or failed too often just now
   */
  async start(target: StdioTarget, listener: ProcessListener): Promise<StdioProcess> {
    const key = keyOf(target);
    this.refuseTooSoon(key, target);
    await this.takePlace(target);
    const program = await this.launch(key, target, listener).finally(() => this.starting--);
    await program.started;
    return program;
  }

  /** The last failure of this target's program was to be expected: it is not held against its next start. */
  forgive(target: StdioTarget): void {
    this.backoff.forgive(keyOf(target));
  }

  /** Ends all programs and starts no more. */
  async onApplicationShutdown(): Promise<void> {
    this.isShutDown = true;
    await Promise.all([...this.running].map((program) => program.stop()));
  }

  private refuseTooSoon(key: string, target: StdioTarget): void {
    const waitMs = this.backoff.waitMs(key);
    if (waitMs === 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    throw new UpstreamError(
      'unreachable',
      `The upstream at ${labelOf(target)} failed again and again; it is started again in ${seconds} s at the earliest.`,
    );
  }

  /** Ends idle programs until there is room for one more. What decides and the taking are one step: nothing comes between. */
  private async takePlace(target: StdioTarget): Promise<void> {
    while (this.running.size + this.starting >= this.limits.maxProcesses) {
      const ending = this.leastRecentlyUsed() ?? [...this.running].find(({ isEnding }) => isEnding);
      if (ending === undefined) {
        throw new UpstreamError('busy', `The upstream at ${labelOf(target)} cannot be started: too many programs run.`);
      }
      await ending.stop();
    }
    if (this.isShutDown) throw new UpstreamError('cancelled', 'The service is shutting down.');
    this.starting++;
  }

  /** Of those that nobody waits for; one that is only listened to counts once it has not been used for long. */
  private leastRecentlyUsed(): StdioProcess | undefined {
    return [...this.running]
      .filter((program) => !program.isEnding && !program.isAwaited)
      .filter((program) => program.isIdle || program.unusedMs >= this.limits.idleMs)
      .toSorted((a, b) => b.unusedMs - a.unusedMs)[0];
  }

  private async launch(key: string, target: StdioTarget, listener: ProcessListener): Promise<StdioProcess> {
    await requireDirectory(target);
    const startedAt = performance.now();
    const program = new StdioProcess(target, this.limits.environment, {
      onLine: (line, log) => listener.onLine(line, log),
      onEnd: (fault) => {
        if (fault === undefined) this.backoff.succeeded(key);
        else this.backoff.failed(key, performance.now() - startedAt);
        listener.onEnd(fault);
      },
    });
    void this.keep(program);
    return program;
  }

  private async keep(program: StdioProcess): Promise<void> {
    if (this.running.size === 0) this.watch();
    this.running.add(program);
    await program.gone;
    this.running.delete(program);
    if (this.running.size === 0) this.unwatch();
  }

  private watch(): void {
    process.once('exit', this.killAll);
    const sweepMs = Math.min(LONGEST_SWEEP_MS, Math.ceil(this.limits.idleMs / 4));
    this.sweeping = setInterval(() => void this.sweep(), sweepMs).unref();
  }

  private unwatch(): void {
    process.removeListener('exit', this.killAll);
    clearInterval(this.sweeping);
  }

  private async sweep(): Promise<void> {
    for (const program of this.running) {
      if (program.isIdle && program.unusedMs >= this.limits.idleMs) void program.stop();
    }
    try {
      await this.endTheLarge();
    } catch (error) {
      this.logger.warn({ err: error }, 'The memory of STDIO programs could not be read');
    }
  }

  private async endTheLarge(): Promise<void> {
    const { maxMemoryBytes } = this.limits;
    const memory = await groupMemory(new Set([...this.running].flatMap(({ pid }) => pid ?? [])));
    for (const program of this.running) {
      const bytes = memory.get(program.pid ?? 0) ?? 0;
      if (bytes > maxMemoryBytes)
        program.fail(
          'unreachable',
          `was ended because it used more than ${Math.round(maxMemoryBytes / 2 ** 20)} MiB of memory`,
        );
    }
  }
}

function keyOf({ connectionId, revision }: StdioTarget): string {
  return `${connectionId}@${revision}`;
}

/** Node reports a missing directory as a missing command. */
async function requireDirectory(target: StdioTarget): Promise<void> {
  const isDirectory = await stat(target.cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isDirectory) return;
  throw new UpstreamError(
    'unreachable',
    `The upstream at ${labelOf(target)} could not be started: its working directory does not exist.`,
  );
}
