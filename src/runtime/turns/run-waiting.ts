import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PeriodicTask } from '../../core/periodic-task.js';
import type { Principal } from '../../core/principal.js';
import { endsWithin } from '../../core/with-timeout.js';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import { RunEvents } from '../events/run-events.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { RunReader } from '../runs/records/run-reader.js';

/** How often the database is asked, for all waiting requests at once, in case no event tells of a run's end. */
const LOOK_EVERY_MS = 2_000;
/** The time for sending the responses of requests that stop waiting because the process ends. */
const SEND_WITHIN_MS = 2_000;

/** A run that a request waits for. */
interface AwaitedRun {
  readonly id: string;
  readonly organizationId: string;
  readonly threadId: string;
}

/** A request that waits. */
interface WaitingRequest {
  readonly caller: Principal;
  readonly reply: FastifyReply;
  readonly withinMs: number;
}

/** Why a request no longer waits. `revoked`: the credential has ended, or its permissions have changed. */
export type WaitingEnd = 'over' | 'late' | 'left' | 'revoked' | 'stopping';

/**
 * Waits until runs are over or wait for approvals, in whichever process that happens. A waiting request holds a
 * subscription and no connection.
 */
@Injectable()
export class RunWaiting implements OnModuleDestroy {
  private readonly logger = new Logger(RunWaiting.name);
  /** With the runs that are waited for; undefined in a pause. */
  private readonly waiting = new Map<(end: WaitingEnd) => void, string | undefined>();
  private readonly unsent = new Set<Promise<void>>();
  private readonly tracked = new WeakSet<FastifyReply>();
  private isStopping = false;
  private readonly looks = new PeriodicTask(() => this.look(), {
    pauseMs: LOOK_EVERY_MS,
    isNeeded: () => this.waiting.size > 0,
    onError: (error) => this.logger.warn({ err: error }, 'The ends of awaited runs could not be looked up'),
  });

  constructor(
    private readonly runs: RunReader,
    private readonly events: RunEvents,
    private readonly credentials: OpenCredentials,
  ) {}

  /**
   * Resolves when the run is over or waits for approvals, when the time has passed, or when there is no reason to wait
   * any more. Never rejects.
   */
  untilOver(run: AwaitedRun, request: WaitingRequest): Promise<WaitingEnd> {
    return this.wait(request, run);
  }

  /** Resolves when the time has passed, whatever the run does, or when there is no reason to wait any more. */
  pause(request: WaitingRequest): Promise<WaitingEnd> {
    return this.wait(request);
  }

  /** The process ends: waiting requests are answered at once, before connections are closed. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    for (const end of this.waiting.keys()) end('stopping');
    await endsWithin(Promise.all(this.unsent), SEND_WITHIN_MS);
    await this.looks.stop();
  }

  private async wait({ caller, reply, withinMs }: WaitingRequest, run?: AwaitedRun): Promise<WaitingEnd> {
    const { promise, resolve: end } = Promise.withResolvers<WaitingEnd>();
    this.waiting.set(end, run?.id);
    this.looks.start();
    this.trackResponse(reply);
    const timer = setTimeout(() => end('late'), withinMs);
    const unwatch = this.credentials.watchPermissions(caller, () => end('revoked'));
    const unlisten = onceClosed(reply, () => end('left'));
    if (this.isStopping) end('stopping');
    const subscription = run && this.subscribe(run, end);
    try {
      return await promise;
    } finally {
      this.waiting.delete(end);
      clearTimeout(timer);
      unwatch();
      unlisten();
      void subscription?.then((unsubscribe) => unsubscribe?.());
    }
  }

  /** Lets the process send this response before it ends. */
  private trackResponse(reply: FastifyReply): void {
    // A request can wait several times.
    if (this.tracked.has(reply)) return;
    this.tracked.add(reply);
    const sent = new Promise<void>((resolve) => void onceClosed(reply, resolve)).then(
      () => void this.unsent.delete(sent),
    );
    this.unsent.add(sent);
  }

  /**
   * Looks at the run once it is subscribed to, because it may have stopped before. Without the event bus, `looks`
   * remains.
   */
  private async subscribe(run: AwaitedRun, end: (end: WaitingEnd) => void): Promise<(() => void) | undefined> {
    try {
      const unsubscribe = await this.events.watchStops(run, (runId) => {
        if (runId === run.id) end('over');
        else if (runId === undefined) void this.look().catch(() => undefined);
      });
      await this.lookFor(new Set([run.id])).catch(() => undefined);
      return unsubscribe;
    } catch {
      return undefined;
    }
  }

  private async look(): Promise<void> {
    const awaited = [...this.waiting.values()].filter((id) => id !== undefined);
    if (awaited.length > 0) await this.lookFor(new Set(awaited));
  }

  private async lookFor(runIds: ReadonlySet<string>): Promise<void> {
    const busy = await this.runs.findBusyAmong([...runIds]);
    for (const [end, runId] of this.waiting) {
      // A request that began to wait meanwhile was not asked for.
      if (runId !== undefined && runIds.has(runId) && !busy.has(runId)) end('over');
    }
  }
}
