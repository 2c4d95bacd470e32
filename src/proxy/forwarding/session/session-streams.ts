import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { LogLevel } from '../../../upstreams/contract/log-level.js';
import type { EventStream } from '../../../upstreams/messages/sse-parts.js';
import { MAX_AGE_MS, type Session } from './sealed-sessions.js';

const MAX_LEVELS = 50_000;

/**
 * What this process knows of clients' sessions with this service, up to 2025-11-25: from which level on a client wants
 * log messages, and its streams of what belongs to no request (GET).
 */
@Injectable()
export class SessionStreams {
  /** By the key of the session, as the streams. */
  private readonly levels = new LRUCache<string, LogLevel>({ max: MAX_LEVELS, ttl: MAX_AGE_MS, ttlResolution: 1_000 });
  private readonly streams = new Map<string, Set<EventStream>>();

  setLevel({ key }: Session, level: LogLevel): void {
    this.levels.set(key, level);
  }

  /** Undefined if the client has not set one in this process. */
  levelOf({ key }: Session): LogLevel | undefined {
    return this.levels.get(key);
  }

  /** Sends to this stream until it closes, unless the client opens another one. */
  add({ key }: Session, stream: EventStream): void {
    const streams = this.streams.get(key) ?? new Set();
    this.streams.set(key, streams.add(stream));
    stream.once('close', () => {
      streams.delete(stream);
      if (streams.size === 0 && this.streams.get(key) === streams) this.streams.delete(key);
    });
  }

  /**
   * Sends a message on the latest stream, because a client must not get it twice (MCP 2025-11-25, transports). Without
   * a stream, the message is lost.
   */
  send({ key }: Session, message: object): void {
    const latest = [...(this.streams.get(key) ?? [])].at(-1);
    latest?.send(Buffer.from(JSON.stringify({ ...message, jsonrpc: '2.0' })));
  }

  /** Call when the client has ended the session. */
  endSession({ key }: Session): void {
    this.levels.delete(key);
    for (const stream of this.streams.get(key) ?? []) stream.finish();
  }
}
