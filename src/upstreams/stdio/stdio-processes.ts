import { stat } from 'node:fs/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { groupUsage } from './group-usage.js';
import { OutputBudget } from './output-budget.js';
import {
  findObstacle,
  type FullScope,
  type ProgramHolder,
  type ProgramSlot,
  type Shares,
  sharesOf,
} from './program-slots.js';
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
  /** Have other organizations STDIO connections? Then none can have all the programs. */
  readonly hasOthers: (organizationId: string) => Promise<boolean>;
}

const LONGEST_SWEEP_MS = 2_000;
/** Processes of one program: far beyond what any server needs, far below what a machine has. */
const MAX_GROUP_SIZE = 256;

const WHO_HAS_TOO_MANY: Readonly<Record<FullScope, string>> = {
  caller: 'the caller has',
  connection: 'its sessions have',
  organization: 'the organization has',
  service: 'the service has',
};

/** The place of a program, from before its start until it is gone. */
class Slot implements ProgramSlot {
  program: StdioProcess | undefined;

  constructor(
    readonly holder: ProgramHolder,
    private readonly idleMs: number,
  ) {}

  get unusedMs(): number {
    return this.program?.unusedMs ?? 0;
  }

  /** A program that is only listened to counts as in use until it has not been used for long. */
  get makeRoom(): (() => Promise<void>) | undefined {
    const { program } = this;
    if (program === undefined) return undefined;
    const isUnused = program.isIdle || (!program.isAwaited && program.unusedMs >= this.idleMs);
    return program.isEnding || isUnused ? () => program.stop() : undefined;
  }
}

/**
 * The programs of this process's STDIO connections: bounded in number, memory and idle time, restarted with a growing pause
 * when they fail, and ended with everything that they started when this process ends.
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
   * Starts the program of a target. Its output goes to `listener` from the first line on.
   * @throws UpstreamError `busy` when its holder or all together have too many, `unreachable` when it cannot be started, or failed too often just now
   */
  async start(target: StdioTarget, listener: ProcessListener, holder: ProgramHolder): Promise<StdioProcess> {
    const key = keyOf(target, holder);
    this.refuseTooSoon(key, target);
    const slot = await this.takeSlot(target, holder);
    try {
      const program = await this.launch(key, target, listener);
      slot.program = program;
      void program.gone.then(() => this.slots.delete(slot));
      await program.started;
      return program;
    } catch (error) {
      // One that could not be started may never be `gone`.
      this.slots.delete(slot);
      throw error;
    }
  }

  /** The last failure of this target's shared program was to be expected: it is not held against its next start. */
  forgive(target: StdioTarget): void {
    this.backoff.forgive(keyOf(target, {}));
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

  /** Ends unused programs until there is room for one more. The last look and the taking are one step: nothing comes between. */
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
        const reason = `${WHO_HAS_TOO_MANY[scope]} as many programs in use as possible`;
        throw new UpstreamError('busy', `The upstream at ${labelOf(target)} cannot be started: ${reason}.`);
      }
      await slot.makeRoom();
    }
    if (this.isShutDown) throw new UpstreamError('cancelled', 'The service is shutting down.');
    const slot = new Slot(holder, this.limits.idleMs);
    this.slots.add(slot);
    return slot;
  }

  /** One for each organization, as long as it has programs. */
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
    const program = new StdioProcess(target, this.limits.environment, watched, this.budgetOf(target));
    void this.keep(program, target);
    return program;
  }

  private async keep(program: StdioProcess, { organizationId }: StdioTarget): Promise<void> {
    if (this.running.size === 0) this.watch();
    this.running.add(program);
    await program.gone;
    this.running.delete(program);
    const isLast = ![...this.slots].some(({ holder }) => holder.organizationId === organizationId);
    if (isLast) this.budgets.delete(organizationId);
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
    const usages = await groupUsage(new Set([...this.running].flatMap(({ pid }) => pid ?? [])));
    for (const program of this.running) {
      const { bytes = 0, processes = 0 } = usages.get(program.pid ?? 0) ?? {};
      if (bytes > maxMemoryBytes) {
        const mebibytes = Math.round(maxMemoryBytes / 2 ** 20);
        program.fail('unreachable', `was ended because it used more than ${mebibytes} MiB of memory`);
      } else if (processes > MAX_GROUP_SIZE) {
        program.fail('unreachable', `was ended because it had more than ${MAX_GROUP_SIZE} processes`);
      }
    }
  }
}

/** Each caller has failures of its own: one that makes its program fail keeps others from nothing. */
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
