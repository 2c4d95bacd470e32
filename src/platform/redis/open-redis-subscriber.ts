import { type Socket, createConnection } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress, RedisNode } from '../../core/config/redis-address.js';
import { credentials, openServer, type RedisClient, type RedisClientOptions } from './open-redis.js';

/**
 * Opens a connection for SUBSCRIBE, which reports `ready` and `close` also on a cluster. There, every node delivers
 * what any node publishes: the connection is to one node, and after its loss to the next.
 * @param client finds the nodes of a cluster
 */
export function openRedisSubscriber(address: RedisAddress, client: RedisClient, options: RedisClientOptions): Redis {
  if (!(client instanceof Cluster)) return openServer(address, options);
  return new Redis({
    ...credentials(address),
    ...options,
    Connector: connectorTo(() => knownNodes(client, address)),
  });
}

/** The nodes that the client knows of, then those of the address. */
function knownNodes(client: Cluster, { nodes }: RedisAddress): readonly RedisNode[] {
  const found = client.nodes('all').map(({ options: { host = '', port = 0 } }) => ({ host, port }));
  return [...found, ...nodes];
}

/** A connector that takes another node for each attempt, starting with a random one to share the load. */
function connectorTo(nodes: () => readonly RedisNode[]): NonNullable<RedisOptions['Connector']> {
  let attempt = Math.floor(Math.random() * 1_000);
  return class extends AbstractConnector {
    constructor(private readonly options: RedisOptions) {
      super(options.disconnectTimeout ?? 0);
    }

    connect(): Promise<Socket> {
      const known = nodes();
      const { host, port } = known[attempt++ % known.length] as RedisNode;
      const { tls } = this.options;
      this.connecting = true;
      const stream = tls === undefined ? createConnection({ host, port }) : connectTls({ host, port, ...tls });
      stream.once('error', (error) => (this.firstError = error));
      this.stream = stream;
      return Promise.resolve(stream);
    }
  } as unknown as NonNullable<RedisOptions['Connector']>;
}
