import { Worker } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FieldError } from '../../core/domain-error.js';

export interface CheckRequest {
  /** Identifies the schema. */
  key: number;
  /** The schema as JSON text, if the thread does not have it yet. */
  schema?: string;
  /** Whether the schema is used as it is: a required property that has a default must be there. */
  isExact?: boolean;
  /** Schemas that the thread can drop. */
  forget: readonly number[];
  /** The arguments as JSON text. */
  args: string;
}

/**
 * The answer of a check thread. `invalid` states why the schema cannot be used, `failed` why it cannot be used on these
 * arguments.
 */
export type CheckAnswer =
  | { readonly kind: 'checked'; readonly faults: readonly FieldError[] }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** The first message of a check thread, once it has loaded everything that it needs. */
export type Ready = 'ready';

/** A check exceeded its time or memory limit. Its thread is terminated; the next check starts a new one. */
export class CheckOverrun extends Error {
  override readonly name = 'CheckOverrun';
}

/** The thread was terminated or could not be started. This says nothing about the schema or the arguments. */
class CheckThreadLost extends Error {
  override readonly name = 'CheckThreadLost';
}

const START_MS = 15_000;
/** Memory limits of a thread. Exceeding them terminates the thread, not the process. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32 };
/** How many schemas a thread caches, and how many characters of schema text. */
const CACHE_LIMITS = { schemas: 500, characters: 2 * 1024 * 1024 };

const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const BODY = new URL(`./check-thread.worker${EXTENSION}`, import.meta.url);

/** A schema's key, and its text for a thread that does not have it. */
export interface NamedSchema {
  key: number;
  text: () => string;
  /** See `CheckRequest`. */
  isExact?: boolean;
}

/**
 * A thread that performs one check at a time, and is terminated when a check takes too long. The first request starts
 * it. It keeps the process alive only during a request.
 */
export class CheckThread {
  private worker?: Worker;
  private starting?: Promise<Worker>;
  /** Length of the text by key, in the order of last use. */
  private readonly sentSchemas = new Map<number, number>();
  private closed = false;

  /** @param deadlineMs of one check, which includes compiling its schema */
  constructor(private readonly deadlineMs: number) {}

  /**
   * @param args the arguments as JSON text
   * @throws CheckOverrun, CheckThreadLost
   */
  async validateInThread(schema: NamedSchema, args: string): Promise<CheckAnswer> {
    const worker = await (this.starting ??= this.start());
    const request = this.requestFor(schema, args);
    worker.ref();
    try {
      const answer = await exchange(worker, request, this.deadlineMs);
      if (answer.kind === 'invalid') this.sentSchemas.delete(schema.key);
      return answer;
    } catch (error) {
      await this.drop();
      throw this.closed ? new CheckThreadLost('The service is stopping.') : error;
    } finally {
      worker.unref();
    }
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** Terminates the thread permanently; an active check rejects with `CheckThreadLost`. */
  async close(): Promise<void> {
    this.closed = true;
    await this.drop();
  }

  private async start(): Promise<Worker> {
    if (this.closed) throw new CheckThreadLost('The service is stopping.');
    // The thread gets no environment variables, and none of the process's loaders.
    const worker = new Worker(BODY, {
      name: 'argument-checks',
      env: {},
      execArgv: [],
      resourceLimits: RESOURCE_LIMITS,
    });
    this.worker = worker;
    try {
      await nextMessage(worker, START_MS);
    } catch (error) {
      await this.drop();
      throw new CheckThreadLost('The check thread did not start.', { cause: error });
    }
    // Without a listener, an error between two requests would end the process.
    worker.on('error', () => undefined);
    worker.on('exit', () => this.worker === worker && this.forgetWorker());
    worker.unref();
    return worker;
  }

  private requestFor({ key, text, isExact = false }: NamedSchema, args: string): CheckRequest {
    const length = this.sentSchemas.get(key);
    this.sentSchemas.delete(key);
    if (length !== undefined) {
      this.sentSchemas.set(key, length);
      return { key, args, forget: [] };
    }
    const schema = text();
    this.sentSchemas.set(key, schema.length);
    return { key, args, schema, isExact, forget: this.evictSurplus() };
  }

  /** Evicts the least recently used schemas until the others fit, and returns their keys. */
  private evictSurplus(): number[] {
    const forget: number[] = [];
    let characters = [...this.sentSchemas.values()].reduce((sum, length) => sum + length, 0);
    for (const [key, length] of this.sentSchemas) {
      if (
        this.sentSchemas.size === 1 ||
        (this.sentSchemas.size <= CACHE_LIMITS.schemas && characters <= CACHE_LIMITS.characters)
      )
        break;
      this.sentSchemas.delete(key);
      characters -= length;
      forget.push(key);
    }
    return forget;
  }

  private async drop(): Promise<void> {
    const { worker } = this;
    this.forgetWorker();
    await worker?.terminate();
  }

  private forgetWorker(): void {
    this.worker = undefined;
    this.starting = undefined;
    this.sentSchemas.clear();
  }
}

async function exchange(worker: Worker, request: CheckRequest, limitMs: number): Promise<CheckAnswer> {
  // On a busy machine, a thread can wait longer for a processor than an honest check takes.
  const half = limitMs / 2;
  const answer = nextMessage(worker, half, (signal) => processorTime(worker, half, signal));
  worker.postMessage(request);
  return (await answer) as CheckAnswer;
}

/**
 * @param extend begins when `limitMs` are over; the thread has time until its promise settles
 * @throws CheckOverrun when the thread takes longer, or ends
 */
function nextMessage(
  worker: Worker,
  limitMs: number,
  extend: (signal: AbortSignal) => Promise<void> = () => Promise.resolve(),
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let extension: AbortController | undefined;
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      extension?.abort();
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      act();
    };
    const onMessage = (message: unknown): void => settle(() => resolve(message));
    const fail = (message: string, cause?: unknown): void => settle(() => reject(new CheckOverrun(message, { cause })));
    const onError = (error: unknown): void => fail('The check thread failed.', error);
    const onExit = (): void => fail('The check thread ended.');
    // If this thread was blocked, the answer is already queued and is delivered before the immediate.
    const onLimit = (): void =>
      void setImmediate(() => extension?.signal.aborted || fail('The check exceeded its time limit.'));
    const timer = setTimeout(() => {
      extension = new AbortController();
      extend(extension.signal).then(onLimit, onLimit);
    }, limitMs);
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}

/** The longest wait by the clock, as a multiple of the processor time. */
const MAX_STRETCH = 9;

/**
 * Resolves when a thread has had some more processor time, or has waited many times as long for it.
 * @param ms the processor time, in milliseconds
 * @throws the reason of the signal when it is aborted, or an error when the thread has ended
 */
export async function processorTime(thread: Pick<Worker, 'cpuUsage'>, ms: number, signal: AbortSignal): Promise<void> {
  const lastAt = performance.now() + MAX_STRETCH * ms;
  let before: NodeJS.CpuUsage | undefined;
  for (let left = ms; left > 0 && performance.now() < lastAt;) {
    // A thread that has no processor does not answer.
    const used = await Promise.race([thread.cpuUsage(before), sleep(ms, undefined, { signal })]);
    if (used === undefined) continue;
    if (before === undefined) before = used;
    else left = ms - (used.user + used.system) / 1_000;
    await sleep(Math.max(left, 0), undefined, { signal });
  }
}
