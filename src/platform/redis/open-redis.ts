import {
  Cluster,
  type Command,
  Redis,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
  AbstractConnector,
} from 'ioredis';
import { type Socket, createConnection } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { RedisAddress, RedisTls, RedisNode } from '../../core/config/redis-address.js';

/** A client whose commands reach the master, or the cluster node, that holds their keys. */
export type RedisClient = Redis | Cluster;

/** ioredis' options that mean the same for a server, behind Sentinels, and on a cluster. */
export type RedisClientOptions = Pick<
  RedisOptions,
  | 'autoResubscribe'
  | 'commandTimeout'
  | 'connectionName'
  | 'connectTimeout'
  | 'keepAlive'
  | 'lazyConnect'
  | 'maxRetriesPerRequest'
> & {
  /** Milliseconds to wait before attempt `times` (from 1) to reconnect. */
  readonly retryStrategy: (times: number) => number;
};

const REFRESH_SLOTS_WITHIN_MS = 2_000;
const REFRESH_SLOTS_EVERY_MS = 10_000;

/** Opens a client of its own for the address. It reconnects until `disconnect`, also after a failover. */
export function openRedis(address: RedisAddress, options: RedisClientOptions): RedisClient {
  return address.mode === 'cluster' ? openCluster(address, options) : openServer(address, options);
}

/** Opens a client for a single server, or for the master that the Sentinels name. */
function openServer(address: RedisAddress, options: RedisOptions): Redis {
  return new Redis({
    ...serverOptions(address),
    reconnectOnError: (error) => (error.message.includes('READONLY') ? RECONNECT_AND_RESEND : false),
    ...options,
  });
}

/** A master that became a replica while its connections stayed open, behind a name that now leads to the new master. */
const RECONNECT_AND_RESEND = 2;

function serverOptions(address: RedisAddress): RedisOptions {
  const { mode, nodes, masterName, sentinelUsername, sentinelPassword } = address;
  if (mode === 'server') return { ...nodes[0], ...credentials(address) };
  const tls = tlsOptions(address.tls);
  return {
    sentinels: [...nodes],
    name: masterName,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    // A master that hangs keeps its connections open. The Sentinels say when another has taken its place.
    failoverDetector: true,
    Connector: ReconnectingSentinelConnector,
    ...credentials(address),
  };
}

/**
 * Stops listening for a failover before it connects again. ioredis would take a message that arrives while it asks for
 * the master as the end of the new connection, and never reconnect.
 */
class ReconnectingSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }

  override connect(...args: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    this.disconnect();
    return super.connect(...args);
  }
}

/** What every connection to a server or cluster node needs. */
function credentials({ username, password, database, tls }: RedisAddress): RedisOptions {
  return {
    // Redis before 7.2 does not know CLIENT SETINFO, and a user needs a permission for it.
    disableClientInfo: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database > 0 && { db: database }),
    ...(tls && { tls: tlsOptions(tls) }),
  };
}

function tlsOptions(tls: RedisTls | undefined) {
  if (tls === undefined) return undefined;
  const { ca, cert, key } = tls;
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
}

function openCluster(address: RedisAddress, options: RedisClientOptions): Cluster {
  const { commandTimeout, lazyConnect = false, retryStrategy, ...redisOptions } = options;
  return new TimedCluster(commandTimeout, [...address.nodes], {
    redisOptions: { ...credentials(address), ...redisOptions },
    lazyConnect,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: REFRESH_SLOTS_WITHIN_MS,
    slotsRefreshInterval: REFRESH_SLOTS_EVERY_MS,
    // Names stay names, which TLS compares with the certificates.
    dnsLookup: (host, done) => done(null, host),
  });
}

/**
 * A cluster client with a command timeout, which ioredis has for single servers only: commands that wait for a node
 * count too.
 */
class TimedCluster extends Cluster {
  private readonly commandTimeout: number | undefined;

  constructor(commandTimeout: number | undefined, ...rest: ConstructorParameters<typeof Cluster>) {
    // ioredis may send commands while it constructs the client, before the timeout is known.
    super(...rest);
    this.commandTimeout = commandTimeout;
  }

  override sendCommand(command: Command, ...rest: never[]): unknown {
    if (this.commandTimeout !== undefined) command.setTimeout(this.commandTimeout);
    return super.sendCommand(command, ...rest);
  }
}

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
