import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { accountKey, type Connection } from '../../connections/connection.js';
import type { ServerDescription } from '../../upstreams/contract/upstream.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';

/** An upstream that is upgraded can support another era than before. */
const CACHED_MS = 5 * 60_000;
const MAX_ENTRIES = 10_000;

interface CacheEntry {
  readonly revision: number;
  readonly serverDescription: ServerDescription;
}

/** The protocol era of each connection's upstream, as determined in the shared session. */
@Injectable()
export class UpstreamEras {
  private readonly known = new LRUCache<string, CacheEntry>({ max: MAX_ENTRIES, ttl: CACHED_MS, ttlResolution: 1_000 });

  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
  ) {}

  /**
   * Returns the cached description, or requests it from the upstream. @throws DomainError `connection_unavailable`,
   * UpstreamError
   */
  async describeUpstream(connection: Connection, signal: AbortSignal): Promise<ServerDescription> {
    const { revision } = connection;
    const key = accountKey(connection);
    const known = this.known.get(key);
    if (known?.revision === revision) return known.serverDescription;
    const serverDescription = await this.health.watchCall(connection, () =>
      this.channels.pooled(connection).serverDescription(signal),
    );
    this.known.set(key, { revision, serverDescription });
    return serverDescription;
  }

  /** Requests the description from the upstream next time. */
  forget(connection: Connection): void {
    this.known.delete(accountKey(connection));
  }
}
