import { Worker } from 'node:worker_threads';
import type { CheckAnswer, CheckRequest } from './check-message.js';

/** Milliseconds for one request; `compile` for one that brings its schema along. */
export interface CheckTimes {
  compile: number;
  check: number;
}

/** A check took longer than it may, or more memory. Its thread is gone; the next check starts a new one. */
export class CheckOverrun extends Error {
  override readonly name = 'CheckOverrun';

  constructor(
    message: string,
    /** Milliseconds from the request to its end. */
    readonly spent: number,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The thread was ended, or could not be started: the check says nothing about schema or arguments. */
export class CheckThreadLost extends Error {
  override readonly name = 'CheckThreadLost';
}

const START_MS = 15_000;
/** Of a thread; beyond it the thread dies, not the process. */
const RESOURCES = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32 };
/** What a thread remembers, as counted in schemas and in characters of their texts. */
const MEMORY = { schemas: 500, characters: 2 * 1024 * 1024 };

const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const BODY = new URL(`./check-thread.worker${EXTENSION}`, import.meta.url);

/** A schema by its name, and how to get its text if the thread does not know it. */
export interface NamedSchema {
  key: number;
  text: () => string;
}

/**
 * A thread that checks one request at a time, and is ended when it takes too long. It is started with the first request,
 * and holds the process up only while a request is under way.
 */
export class CheckThread {
  private worker?: Worker;
  private starting?: Promise<Worker>;
  /** Length of the text by key, in the order of last use. */
  private readonly known = new Map<number, number>();
  private closed = false;

  constructor(private readonly times: CheckTimes) {}

  /**
   * @param args the arguments as JSON text
   * @throws CheckOverrun, CheckThreadLost
   */
  async check(schema: NamedSchema, args: string): Promise<CheckAnswer> {
    const worker = await (this.starting ??= this.start());
    const request = this.requestFor(schema, args);
    const limit = request.schema === undefined ? this.times.check : this.times.compile;
    worker.ref();
    try {
      const answer = await exchange(worker, request, limit);
      if (answer.kind === 'invalid') this.known.delete(schema.key);
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

  /** Ends the thread for good; a check under way rejects with `CheckThreadLost`. */
  async close(): Promise<void> {
    this.closed = true;
    await this.drop();
  }

  private async start(): Promise<Worker> {
    if (this.closed) throw new CheckThreadLost('The service is stopping.');
    // The thread sees nothing of the environment, and none of the process's own loaders.
    const worker = new Worker(BODY, { name: 'argument-checks', env: {}, execArgv: [], resourceLimits: RESOURCES });
    this.worker = worker;
    try {
      await nextMessage(worker, START_MS);
    } catch (error) {
      await this.drop();
      throw new CheckThreadLost('The thread for checks does not start.', { cause: error });
    }
    // Without a listener, an error between two requests would end the process.
    worker.on('error', () => undefined);
    worker.on('exit', () => this.worker === worker && this.forgetWorker());
    worker.unref();
    return worker;
  }

  private requestFor({ key, text }: NamedSchema, args: string): CheckRequest {
    const length = this.known.get(key);
    this.known.delete(key);
    if (length !== undefined) {
      this.known.set(key, length);
      return { key, args, forget: [] };
    }
    const schema = text();
    this.known.set(key, schema.length);
    return { key, args, schema, forget: this.surplus() };
  }

  /** Takes the least recently used schemas out of `known` until the others fit. */
  private surplus(): number[] {
    const forget: number[] = [];
    let characters = [...this.known.values()].reduce((sum, length) => sum + length, 0);
    for (const [key, length] of this.known) {
      if (this.known.size === 1 || (this.known.size <= MEMORY.schemas && characters <= MEMORY.characters)) break;
      this.known.delete(key);
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
    this.known.clear();
  }
}

async function exchange(worker: Worker, request: CheckRequest, limitMs: number): Promise<CheckAnswer> {
  const answer = nextMessage(worker, limitMs);
  worker.postMessage(request);
  return (await answer) as CheckAnswer;
}

/** @throws CheckOverrun when the thread takes longer than `limitMs`, or ends */
function nextMessage(worker: Worker, limitMs: number): Promise<unknown> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      act();
    };
    const onMessage = (message: unknown): void => settle(() => resolve(message));
    const fail = (message: string, cause?: unknown): void =>
      settle(() => reject(new CheckOverrun(message, performance.now() - begun, { cause })));
    const onError = (error: unknown): void => fail('It failed.', error);
    const onExit = (): void => fail('It ended.');
    const onLimit = (): void => fail('It takes too long.');
    // When it was this thread that was held up, the answer lies in the inbox and comes before the immediate.
    const timer = setTimeout(() => setImmediate(onLimit), limitMs);
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  });
}
