import { setTimeout as sleep } from 'node:timers/promises';
import type { UIMessageChunk } from 'ai';
import { type OpenedStream, openStream } from '../../src/boot/testing/thread-stream.js';
import { type Caller, FaultError } from './caller.js';
import type { Random } from './random.js';

const SILENCE_MS = 180_000;
const HEADERS_WITHIN_MS = 60_000;
const POSITION = /^(?<run>[^:]+):(?<n>\d+)\.\d+\.[0-9a-z]*\.(?<round>\d+)(?:\.last)?$/;
const ABOUT_THE_WHOLE = new Set(['start', 'finish', 'error', 'abort', 'message-metadata']);

/** What one reader received of a run, over all its connections. */
export interface Reading {
  readonly chunks: UIMessageChunk[];
  readonly connections: number;
  /** Frames that followed another one without the frames between them. */
  readonly gaps: string[];
  /** Frames that arrived more than once. */
  readonly repeats: string[];
  /** The service had lost frames, so that the reader began the last step again. */
  readonly restarts: number;
  /** False if the service answered 410: the run is over, and its frames are gone. */
  readonly isWhole: boolean;
}

interface RunReaderOptions {
  readonly threadId: string;
  /** The run's id, once its post is answered. */
  readonly taskId: Promise<string>;
  /** Opens the stream before the run is posted, without naming it. */
  readonly isEarly: boolean;
}

/**
 * Reads one run to its `[DONE]`. It hangs up at random and continues with its last id at another process, as it does
 * when the connection breaks.
 */
export class RunReader {
  private readonly chunks: UIMessageChunk[] = [];
  private readonly ids = new Set<string>();
  private readonly gaps: string[] = [];
  private readonly repeats: string[] = [];
  private connections = 0;
  private last: { id: string; n: number; round: number } | undefined;
  /** Set while frames that the reader already has are left out. */
  private isCatchingUp = false;
  private url: string | undefined;
  private lastProgress = Date.now();
  private readonly caller: Caller;
  private readonly random: Random;
  private readonly options: RunReaderOptions;

  constructor(caller: Caller, random: Random, options: RunReaderOptions) {
    this.caller = caller;
    this.random = random;
    this.options = options;
  }

  /**
   * Opens the stream and returns the reading of it: an early reader has subscribed when this resolves.
   * @throws FaultError
   */
  async open(): Promise<() => Promise<Reading>> {
    if (!this.options.isEarly) return () => this.read(undefined);
    const stream = await this.connect({});
    return () => this.read(stream);
  }

  private async read(opened: OpenedStream | undefined): Promise<Reading> {
    const taskId = await this.options.taskId;
    this.lastProgress = Date.now();
    let stream = opened;
    for (;;) {
      stream ??= await this.connect(this.last === undefined ? { query: { taskId } } : { lastEventId: this.last.id });
      if (stream === undefined) return this.reading(false);
      if (await this.take(stream, taskId)) return this.reading(true);
      stream.close();
      stream = undefined;
      await sleep(this.random.integer(0, 50));
    }
  }

  /** Connects to another process than before, until one accepts. Undefined if the stream has expired. */
  private async connect(position: {
    query?: Record<string, string>;
    lastEventId?: string;
  }): Promise<OpenedStream | undefined> {
    const { target } = this.caller;
    for (;;) {
      this.url = this.caller.other(this.url);
      const opening = openStream(this.url, target.org, this.options.threadId, target.apiKey, position);
      const stream = await this.within(
        opening.catch(() => undefined),
        `${this.url} did not answer`,
      );
      if (stream?.status === 200) {
        this.connections++;
        return stream;
      }
      if (stream?.status === 410) return undefined;
      if (stream !== undefined && stream.status !== 503) {
        throw new FaultError(`A stream was answered with ${stream.status}: ${await stream.text()}`);
      }
      stream?.close();
      if (Date.now() - this.lastProgress > SILENCE_MS)
        throw new FaultError('A reader could not connect to any process.');
      await sleep(100);
    }
  }

  /** Reads one connection. Returns whether it reached `[DONE]`. */
  private async take(stream: OpenedStream, taskId: string): Promise<boolean> {
    let left = this.random.chance(0.4) ? this.random.integer(1, 60) : Infinity;
    const silence = setInterval(() => {
      if (Date.now() - this.lastProgress > SILENCE_MS) stream.close();
    }, 1_000);
    try {
      for await (const { id, data } of stream.frames()) {
        if (data === '[DONE]') return true;
        this.lastProgress = Date.now();
        this.add(id, JSON.parse(data) as UIMessageChunk, taskId);
        if (--left === 0) return false;
      }
    } catch (error) {
      if (error instanceof FaultError) throw error;
      // The connection broke.
    } finally {
      clearInterval(silence);
    }
    if (Date.now() - this.lastProgress > SILENCE_MS) {
      throw new FaultError(`The stream of ${taskId} stopped after ${this.last?.id ?? 'nothing'}.`);
    }
    return false;
  }

  private add(id: string | undefined, chunk: UIMessageChunk, taskId: string): void {
    this.chunks.push(chunk);
    // `reset-step` has no number: the frames after it begin again.
    if (id === undefined) return;
    const { run, n: number, round: inRound } = POSITION.exec(id)?.groups ?? {};
    if (run !== taskId) throw new FaultError(`The stream of ${taskId} carried the frame ${id}.`);
    const [n, round] = [Number(number), Number(inRound)];
    if (this.ids.has(id)) this.repeats.push(id);
    this.ids.add(id);
    const { n: before, round: earlier } = this.last ?? { n: 0, round };
    if (round !== earlier) this.isCatchingUp = true;
    else if (n <= before) this.repeats.push(`${id} after ${this.last?.id}`);
    else if (n !== before + 1 && !this.isCatchingUp) this.gaps.push(`${id} after ${this.last?.id ?? 'nothing'}`);
    if (!ABOUT_THE_WHOLE.has(chunk.type)) this.isCatchingUp = false;
    this.last = { id, n, round };
  }

  private async within<T>(work: Promise<T>, fault: string): Promise<T> {
    const timer = new AbortController();
    const late = sleep(HEADERS_WITHIN_MS, undefined, { signal: timer.signal }).then(() => {
      throw new FaultError(`${fault} within ${HEADERS_WITHIN_MS} ms.`);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([work, late]);
    } finally {
      timer.abort();
    }
  }

  private reading(isWhole: boolean): Reading {
    const { chunks, connections, gaps, repeats } = this;
    return { chunks, connections, gaps, repeats, restarts: this.last?.round ?? 0, isWhole };
  }
}
