import type { Redis } from 'ioredis';
import type { SignalHub, SignalLink } from './signal-hub.js';

const HEARTBEAT_MS = 15_000;

/** The SUBSCRIBE connection of a process. ioredis keeps it open; the hub restores its subscriptions. */
export class RedisSubscriber {
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
