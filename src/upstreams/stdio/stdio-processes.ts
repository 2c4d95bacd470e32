import { stat } from 'node:fs/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { AnswerRooms } from '../../core/answers/answer-room.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { groupUsage } from './group-usage.js';
import { OutputBudget } from './program-output.js';
import {
  findObstacle,
  LIMITED_HOLDER,
  type ProgramHolder,
  type ProgramSlot,
  type Shares,
  sharesOf,
} from './program-slots.js';
import { labelOf, type ProcessListener, StdioProcess } from './stdio-process.js';

export interface StdioLimits {
  /** The limit on running programs, both shared ones and those of sessions. */
  readonly maxProcesses: number;
  /** Milliseconds without use after which a program is stopped. */
  readonly idleMs: number;
  /** The limit on the resident bytes of one program with its child processes. */
  readonly maxMemoryBytes: number;
  /** The environment variables of every program. */
  readonly environment: Readonly<Record<string, string>>;
  /** True if other organizations have STDIO connections. One organization then cannot have all the programs. */
  readonly hasOthers: (organizationId: string) => Promise<boolean>;
  /** For what callers leave unread of the programs' messages. */
  readonly rooms: Pick<AnswerRooms, 'open'>;
}

const LONGEST_SWEEP_MS = 2_000;
/** The limit on the processes of one program: more than any server needs, and less than a machine can have. */
const MAX_GROUP_SIZE = 256;

/** The slot of a program, from before its start until it has ended. */
class Slot implements ProgramSlot {
  program: StdioProcess | undefined;

  constructor(
    readonly holder: ProgramHolder,
    private readonly idleMs: number,
  ) {}

  get unusedMs(): number {
    return this.program?.unusedMs ?? 0;
  }

  /** A program with only a listener counts as in use until it is idle for too long. */
  get makeRoom(): (() => Promise<void>) | undefined {
    const { program } = this;
    if (program === undefined) return undefined;
    const isUnused = program.isIdle || (!program.isAwaited && program.unusedMs >= this.idleMs);
    return program.isEnding || isUnused ? () => program.stop() : undefined;
  }
}

/**
 * The programs of this process's STDIO connections. They are limited in number, memory and idle time, restarted with
 * growing delays after failures, and ended with all their child processes when this process ends.
 */
@Injectable()
export class StdioProcesses implements OnApplicationShutdown {
  private readonly logger = new Logger(StdioProcesses.name);
  private readonly slots = new Set<Slot>();
  private readonly running = new Set<StdioProcess>();
  private readonly budgets = new Map<string, OutputBudget>();
  private readonly shares: Shares;
  private readonly backoff = new RestartBackoff();
  private sweeping: NodeJS.Timeout | undefined;
  private isShutDown = false;
  private readonly killAll = (): void => this.running.forEach((program) => program.kill());

  constructor(private readonly limits: StdioLimits) {
    this.shares = sharesOf(limits.maxProcesses);
  }

  /**
   * Starts the program of a target. `listener` receives its output from the first line.
   * @throws UpstreamError `busy` if a limit on programs is reached, `unreachable` if it cannot be started or its
   *   restart is
   * delayed
   */
  async start(target: StdioTarget, listener: ProcessListener, holder: ProgramHolder): Promise<StdioProcess> {
    const key = keyOf(target, holder);
    this.requireRestartAllowed(key, target);
    const slot = await this.takeSlot(target, holder);
    try {
      const program = await this.launch(key, target, listener);
      slot.program = program;
      void program.gone.then(() => this.slots.delete(slot));
      await program.started;
      return program;
    } catch (error) {
      // `gone` may never resolve for a program that could not be started.
      this.slots.delete(slot);
      throw error;
    }
  }

  /** Ignores the last failure of this target's program, because it was expected. */
  forgive(target: StdioTarget, holder: Pick<ProgramHolder, 'callerId'>): void {
    this.backoff.forgive(keyOf(target, holder));
  }

  /** Stops all programs, and refuses further starts. */
  async onApplicationShutdown(): Promise<void> {
    this.isShutDown = true;
    await Promise.all([...this.running].map((program) => program.stop()));
  }

  private requireRestartAllowed(key: string, target: StdioTarget): void {
    const waitMs = this.backoff.waitMs(key);
    if (waitMs === 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    throw new UpstreamError(
      'unreachable',
      `The upstream at ${labelOf(target)} failed repeatedly; it can be restarted in ${seconds} s.`,
    );
  }

  /**
   * Stops unused programs until a slot is free. The last check and taking the slot happen without an await in between.
   */
  private async takeSlot(target: StdioTarget, holder: ProgramHolder): Promise<Slot> {
    let isAlone: boolean | undefined;
    for (;;) {
      const obstacle = findObstacle(holder, [...this.slots], this.shares, isAlone ?? false);
      if (obstacle === undefined) break;
      if (obstacle.scope === 'organization' && isAlone === undefined) {
        isAlone = !(await this.limits.hasOthers(holder.organizationId));
        continue;
      }
      const { slot, scope } = obstacle;
      if (slot?.makeRoom === undefined) {
        const reason = `${LIMITED_HOLDER[scope]} reached the limit of programs in use`;
        throw new UpstreamError('busy', `The upstream at ${labelOf(target)} cannot be started: ${reason}.`);
      }
      await slot.makeRoom();
    }
    if (this.isShutDown) throw new UpstreamError('cancelled', 'The service is shutting down.');
    const slot = new Slot(holder, this.limits.idleMs);
    this.slots.add(slot);
    return slot;
  }

  /** Each organization has one budget as long as it has programs. */
  private budgetOf({ organizationId }: StdioTarget): OutputBudget {
    const budget = this.budgets.get(organizationId) ?? new OutputBudget();
    this.budgets.set(organizationId, budget);
    return budget;
  }

  private async launch(key: string, target: StdioTarget, listener: ProcessListener): Promise<StdioProcess> {
    await requireDirectory(target);
    const startedAt = performance.now();
    const watched: ProcessListener = {
      onLine: (line, log) => listener.onLine(line, log),
      onCostlyAnswer: (id, line) => listener.onCostlyAnswer(id, line),
      onEnd: (fault) => {
        if (fault === undefined) this.backoff.succeeded(key);
        else this.backoff.failed(key, performance.now() - startedAt);
        listener.onEnd(fault);
      },
    };
    const { environment, rooms } = this.limits;
    const program = new StdioProcess(target, environment, watched, this.budgetOf(target), rooms);
    void this.track(program, target);
    return program;
  }

  private async track(program: StdioProcess, { organizationId }: StdioTarget): Promise<void> {
    if (this.running.size === 0) this.startMonitoring();
    this.running.add(program);
    await program.gone;
    this.running.delete(program);
    const isLast = ![...this.slots].some(({ holder }) => holder.organizationId === organizationId);
    if (isLast) this.budgets.delete(organizationId);
    if (this.running.size === 0) this.stopMonitoring();
  }

  private startMonitoring(): void {
    process.once('exit', this.killAll);
    const sweepMs = Math.min(LONGEST_SWEEP_MS, Math.ceil(this.limits.idleMs / 4));
    this.sweeping = setInterval(() => void this.sweep(), sweepMs).unref();
  }

  private stopMonitoring(): void {
    process.removeListener('exit', this.killAll);
    clearInterval(this.sweeping);
  }

  private async sweep(): Promise<void> {
    for (const program of this.running) {
      if (program.isIdle && program.unusedMs >= this.limits.idleMs) void program.stop();
    }
    try {
      await this.stopOversized();
    } catch (error) {
      this.logger.warn({ err: error }, 'Could not read the memory usage of STDIO programs');
    }
  }

  private async stopOversized(): Promise<void> {
    const { maxMemoryBytes } = this.limits;
    const usages = await groupUsage(new Set([...this.running].flatMap(({ pid }) => pid ?? [])));
    for (const program of this.running) {
      const { bytes = 0, processes = 0 } = usages.get(program.pid ?? 0) ?? {};
      if (bytes > maxMemoryBytes) {
        const mebibytes = Math.round(maxMemoryBytes / 2 ** 20);
        program.fail('unreachable', `was stopped because it used more than ${mebibytes} MiB of memory`);
      } else if (processes > MAX_GROUP_SIZE) {
        program.fail('unreachable', `was stopped because it had more than ${MAX_GROUP_SIZE} processes`);
      }
    }
  }
}

/** Failures are counted for each caller, so that a caller whose program fails does not affect others. */
function keyOf({ connectionId, revision }: StdioTarget, { callerId = '' }: Pick<ProgramHolder, 'callerId'>): string {
  return `${connectionId}@${revision} ${callerId}`;
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

/** A program that ran this long counts as successfully started. */
const STABLE_MS = 60_000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** Beyond so many programs, the one that failed or was asked for longest ago is forgotten. */
const MAX_ENTRIES = 10_000;

interface Entry {
  failures: number;
  /** On the clock of `performance.now()`. */
  notBefore: number;
}

/** Delays the restart of failed programs: no delay after the first failure, then delays that double up to 30 s. */
export class RestartBackoff {
  private readonly entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Milliseconds until the next start is allowed; 0 if it is allowed now. */
  waitMs(key: string): number {
    return Math.max(0, (this.entries.get(key)?.notBefore ?? 0) - this.now());
  }

  /** @param ranMs how long it ran; 0 if it could not be started */
  failed(key: string, ranMs: number): void {
    const before = ranMs < STABLE_MS ? (this.entries.get(key)?.failures ?? 0) : 0;
    const delay = before === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(before - 1, 10));
    this.entries.set(key, { failures: before + 1, notBefore: this.now() + delay });
  }

  /** Ignores the last failure. */
  forgive(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) this.entries.set(key, { failures: Math.max(0, entry.failures - 1), notBefore: 0 });
  }

  /** Resets the failures of a program that was stopped on request. */
  succeeded(key: string): void {
    this.entries.delete(key);
  }
}
