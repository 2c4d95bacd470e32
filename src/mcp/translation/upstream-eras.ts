import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Connection } from '../../connections/connection.js';
import type { ServerDescription } from '../../upstreams/contract/server-description.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';

/** An upstream that was renewed may speak another era than it did. */
const BELIEVED_MS = 5 * 60_000;
const MAX_ENTRIES = 10_000;

interface Known {
  readonly revision: number;
  readonly serverDescription: ServerDescription;
}

/** Which protocol era the upstream of each connection speaks, as the session that callers share found out. */
@Injectable()
export class UpstreamEras {
  private readonly known = new LRUCache<string, Known>({ max: MAX_ENTRIES, ttl: BELIEVED_MS, ttlResolution: 1_000 });

  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
  ) {}

  /** Asks the upstream if that is not known. @throws DomainError `connection_unavailable`, UpstreamError */
  async of(connection: Connection, signal: AbortSignal): Promise<ServerDescription> {
    const { id, revision } = connection;
    const known = this.known.get(id);
    if (known?.revision === revision) return known.serverDescription;
    const serverDescription = await this.health.watch(connection, () =>
      this.channels.pooled(connection).serverDescription(signal),
    );
    this.known.set(id, { revision, serverDescription });
    return serverDescription;
  }
}
