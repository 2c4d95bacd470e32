import type { Redis } from 'ioredis';
import type { RedisAddress } from '../../core/config/redis-address.js';
import {
  openRedis,
  type RedisClient,
  type RedisClientOptions,
  openRedisSubscriber,
} from '../../platform/redis/open-redis.js';
import { framePage, UNKNOWN_RUN } from './frame-page.js';
import {
  type FramePosition,
  errorName,
  lifetimeOf,
  EventStoreClosedError,
  StaleWriterError,
  type NoticeListener,
  type FrameBatch,
  type FramePage,
  MAX_BATCH_BYTES,
  type PreviousRun,
  type RunEventExpiry,
  RunEventStore,
  type RunSignalListener,
  type RunTopic,
  type StreamWriter,
  type Unsubscribe,
} from './run-event-store.js';
import { APPEND_BATCH, OPEN_STREAM, READ_BATCHES, START_STREAM, type RedisScript } from './redis-stream-scripts.js';
import { backoffMs } from '../../core/retry.js';
import { encodeBatch, joinFrames, topicHash } from './signal-codec.js';
import { SignalHub, type SignalLink } from './signal-hub.js';

/** API callers wait for some of the commands; writers and followers retry them. */
const ANSWER_WITHIN_MS = 2_000;

interface RedisRunEventStoreOptions extends RunEventExpiry {
  readonly address: RedisAddress;
  /** Prefix of every key and channel. Default: `sbx:`. */
  readonly keyPrefix?: string;
  readonly log: (message: string) => void;
}

/**
 * The run event bus on Redis or Valkey: one stream entry per batch. One script stores it, sets its time to live and
 * publishes it. Readers subscribe by Pub/Sub and replay with XRANGE. The server deletes expired streams.
 */
export class RedisRunEventStore extends RunEventStore {
  private readonly redis: RedisClient;
  private readonly hub: SignalHub;
  private readonly subscriber: RedisSubscriber;
  private readonly keyPrefix: string;
  private closed = false;

  constructor(private readonly options: RedisRunEventStoreOptions) {
    super();
    this.keyPrefix = options.keyPrefix ?? 'sbx:';
    const connection: RedisClientOptions = {
      connectTimeout: ANSWER_WITHIN_MS,
      commandTimeout: ANSWER_WITHIN_MS,
      keepAlive: 10_000,
      retryStrategy: backoffMs,
    };
    this.redis = openRedis(options.address, { ...connection, maxRetriesPerRequest: 2 });
    // Callers see the errors of their commands. Without a listener, ioredis prints connection errors.
    this.redis.on('error', () => undefined);
    this.hub = new SignalHub(this.noticeChannel);
    const subscriber = openRedisSubscriber(options.address, this.redis, {
      ...connection,
      lazyConnect: true,
      autoResubscribe: false,
      maxRetriesPerRequest: null,
    });
    this.subscriber = new RedisSubscriber(subscriber, this.hub, (error) =>
      options.log(`The connection for live events was lost; reconnecting (${errorName(error)})`),
    );
  }

  async open(topic: RunTopic, runId: string, { fence, epoch }: StreamWriter): Promise<number> {
    const next = Number(await this.run(OPEN_STREAM, topic, runId, [fence, epoch, lifetimeOf(this.options, false)]));
    if (next === 0) {
      throw new StaleWriterError(runId);
    }
    return next;
  }

  start(topic: RunTopic, batch: FrameBatch, fence: number, follows: PreviousRun): Promise<void> {
    return this.write(START_STREAM, topic, batch, fence, follows);
  }

  append(topic: RunTopic, batch: FrameBatch, fence: number): Promise<void> {
    return this.write(APPEND_BATCH, topic, batch, fence);
  }

  private async write(
    script: RedisScript,
    topic: RunTopic,
    batch: FrameBatch,
    fence: number,
    follows?: PreviousRun,
  ): Promise<void> {
    const { runId, epoch, first, frames } = batch;
    const next = first + frames.length;
    const joined = joinFrames(frames);
    const stored = await this.run(script, topic, runId, [
      fence,
      first,
      next,
      frames.length > 0 ? `${next - 1}-${first}` : '',
      batch.end ? 1 : 0,
      joined,
      lifetimeOf(this.options, batch.end),
      this.topicChannel(topic),
      // Larger messages could overrun subscribers' output buffers; the server then disconnects them.
      joined.length <= MAX_BATCH_BYTES ? encodeBatch(batch, joined, follows) : runId,
      epoch,
    ]);
    if (stored !== 1) {
      throw new StaleWriterError(runId);
    }
  }

  async read(topic: RunTopic, runId: string, after: FramePosition, maxFrames: number): Promise<FramePage> {
    const page = await this.run(READ_BATCHES, topic, runId, [after.n, maxFrames]);
    if (!Array.isArray(page)) {
      return UNKNOWN_RUN;
    }
    const [next, ended, ...entries] = page.map(String);
    const batches = [];
    for (let i = 0; i < entries.length; i += 3) {
      const [last, first] = (entries[i] ?? '').split('-').map(Number);
      batches.push({
        first: first ?? 0,
        last: last ?? 0,
        epoch: entries[i + 1] ?? '',
        joinedFrames: entries[i + 2] ?? '',
      });
    }
    return framePage({ ended: ended === '1', nextFrame: Number(next), batches }, after, maxFrames);
  }

  async hasEnded(topic: RunTopic, runId: string): Promise<boolean> {
    this.refuseWhenClosed();
    const run = this.keyOf(topic, runId);
    // A server that is short of memory evicts individual keys. An end marker counts only if the frames still exist.
    const [ended, frames] = await Promise.all([this.redis.hget(run, 'ended'), this.redis.exists(`${run}:frames`)]);
    return ended === '1' && frames === 1;
  }

  subscribe(topic: RunTopic, listener: RunSignalListener): Promise<Unsubscribe> {
    this.subscriber.start();
    return this.hub.subscribe(this.topicChannel(topic), listener);
  }

  async announce(notice: string): Promise<void> {
    this.refuseWhenClosed();
    await this.redis.publish(this.noticeChannel, notice);
  }

  onNotice(listener: NoticeListener): Unsubscribe {
    this.subscriber.start();
    return this.hub.onNotice(listener);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.hub.close();
    this.subscriber.close();
    this.redis.disconnect();
  }

  private run(
    script: RedisScript,
    topic: RunTopic,
    runId: string,
    values: readonly (string | number)[],
  ): Promise<unknown> {
    this.refuseWhenClosed();
    const run = this.keyOf(topic, runId);
    return script.run(this.redis, [run, `${run}:frames`], values);
  }

  /** The hash tag maps the keys of a thread to one cluster slot. */
  private keyOf(topic: RunTopic, runId: string): string {
    return `${this.keyPrefix}{${topicHash(topic)}}:run:${runId}`;
  }

  private refuseWhenClosed(): void {
    if (this.closed) {
      throw new EventStoreClosedError();
    }
  }

  private get noticeChannel(): string {
    return `${this.keyPrefix}cancel`;
  }

  private topicChannel(topic: RunTopic): string {
    return `${this.keyPrefix}topic:${topicHash(topic)}`;
  }
}

const HEARTBEAT_MS = 15_000;

/** The SUBSCRIBE connection of a process. ioredis keeps it open; the hub restores its subscriptions. */
class RedisSubscriber {
  private heartbeat: NodeJS.Timeout | undefined;

  /** @param redis a connection that has not been opened and does not restore subscriptions itself */
  constructor(
    private readonly redis: Redis,
    hub: SignalHub,
    onLost: (error: unknown) => void,
  ) {
    let connected = true;
    this.redis.on('error', (error) => {
      if (connected) {
        connected = false;
        onLost(error);
      }
    });
    this.redis.on('ready', () => {
      connected = true;
      hub.attach(this.link());
    });
    this.redis.on('close', () => hub.detach());
    this.redis.on('message', (channel, payload) => hub.receive(channel, payload));
  }

  /** Connects on the first call; later calls do nothing. */
  start(): void {
    if (this.heartbeat) {
      return;
    }
    // ioredis retries a failed attempt.
    this.redis.connect().catch(() => undefined);
    this.heartbeat = setInterval(() => this.checkConnection(), HEARTBEAT_MS).unref();
  }

  close(): void {
    clearInterval(this.heartbeat);
    this.redis.disconnect();
  }

  /** Detects a peer that vanished without closing: no reply within the command timeout ends the connection. */
  private checkConnection(): void {
    if (this.redis.status === 'ready') {
      this.redis.ping().catch(() => this.reconnect());
    }
  }

  /** Replaces an open connection. Disconnecting one that ioredis is still opening would end its attempts for ever. */
  private reconnect(): void {
    if (this.redis.status === 'ready') {
      this.redis.disconnect(true);
    }
  }

  private link(): SignalLink {
    return {
      apply: async (add, remove) => {
        try {
          await Promise.all([
            remove.length > 0 ? this.redis.unsubscribe(...remove) : undefined,
            add.length > 0 ? this.redis.subscribe(...add) : undefined,
          ]);
        } catch (error) {
          this.reconnect();
          throw error;
        }
      },
    };
  }
}
