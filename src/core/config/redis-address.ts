import { readFileSync } from 'node:fs';
import { ConfigError, type EnvReader } from './env-reader.js';

/** One address of a Redis server, a Sentinel, or a cluster node. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

/**
 * Files of a TLS connection, as PEM text. Undefined members mean the certificates of Node.js and no client certificate.
 */
export interface RedisTls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** How Redis or Valkey is reached: `REDIS_URL` and the variables next to it. Contains secrets: never log it. */
export interface RedisAddress {
  readonly mode: 'server' | 'sentinel' | 'cluster';
  /** The server, the Sentinels, or some nodes of the cluster, which name the others. At least one. */
  readonly nodes: readonly RedisNode[];
  /** The name under which the Sentinels know the master; empty in the other modes. */
  readonly masterName: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: RedisTls | undefined;
  /** The user of the Sentinels, who have users of their own. */
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

const FORM = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(?:\/([^?#]*))?$/;
const HOST_AND_PORT = /^(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/;
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;

/**
 * Reads `REDIS_URL`, `REDIS_CA_FILE`, `REDIS_CERT_FILE`, `REDIS_KEY_FILE`, `REDIS_SENTINEL_USERNAME` and
 * `REDIS_SENTINEL_PASSWORD`. Undefined if `REDIS_URL` is unset.
 * @throws ConfigError with a message that names the variable and no value
 */
export function readRedisAddress(read: EnvReader): RedisAddress | undefined {
  const url = read.text('REDIS_URL');
  if (url === undefined) return undefined;
  const [, scheme, form, user, hosts = '', path = ''] = FORM.exec(url) ?? [];
  if (scheme === undefined) {
    throw new ConfigError(
      'REDIS_URL must be a URL that starts with redis://, redis+sentinel:// or redis+cluster:// (with TLS: rediss), ' +
        'without a query.',
    );
  }
  const mode = form === 'sentinel' || form === 'cluster' ? form : 'server';
  const nodes = hosts.split(',').map((text) => toNode(text, mode === 'sentinel' ? SENTINEL_PORT : REDIS_PORT));
  if (mode === 'server' && nodes.length > 1) {
    throw new ConfigError('REDIS_URL must have one host, or start with redis+sentinel:// or redis+cluster://.');
  }
  return {
    mode,
    nodes,
    ...readPath(mode, path),
    ...readUser(user),
    tls: scheme === 'rediss' ? readTls(read) : undefined,
    sentinelUsername: read.text('REDIS_SENTINEL_USERNAME'),
    sentinelPassword: read.text('REDIS_SENTINEL_PASSWORD'),
  };
}

function toNode(text: string, defaultPort: number): RedisNode {
  const [, host = '', port] = HOST_AND_PORT.exec(text.trim()) ?? [];
  const number = port === undefined ? defaultPort : Number(port);
  if (host === '' || number < 1 || number > 65_535) {
    throw new ConfigError('REDIS_URL must have hosts of the form `host:port`, separated by commas.');
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: number };
}

/** `/<database>`, for Sentinels `/<master>[/<database>]`, and nothing for a cluster, which has one database. */
function readPath(mode: RedisAddress['mode'], path: string): { masterName: string; database: number } {
  const parts = path.split('/');
  const masterName = mode === 'sentinel' ? decode(parts.shift() ?? '') : '';
  const [database = '', ...rest] = parts;
  const isValid = rest.length === 0 && (mode === 'cluster' ? database === '' : /^\d{0,5}$/.test(database));
  if (!isValid || (mode === 'sentinel' && masterName === '')) {
    const form = { server: '/<database>', sentinel: '/<master name>[/<database>]', cluster: 'no path' }[mode];
    throw new ConfigError(`REDIS_URL must end with ${form} in this mode.`);
  }
  return { masterName, database: Number(database) };
}

function readUser(user: string | undefined): { username: string | undefined; password: string | undefined } {
  if (user === undefined) return { username: undefined, password: undefined };
  const colon = user.indexOf(':');
  const username = decode(colon === -1 ? user : user.slice(0, colon));
  return {
    username: username === '' ? undefined : username,
    password: colon === -1 ? undefined : decode(user.slice(colon + 1)),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigError('REDIS_URL must write special characters as %XX.');
  }
}

function readTls(read: EnvReader): RedisTls {
  const tls = {
    ca: readPem(read, 'REDIS_CA_FILE'),
    cert: readPem(read, 'REDIS_CERT_FILE'),
    key: readPem(read, 'REDIS_KEY_FILE'),
  };
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new ConfigError('REDIS_CERT_FILE and REDIS_KEY_FILE must be set together.');
  }
  return tls;
}

function readPem(read: EnvReader, name: string): string | undefined {
  const file = read.text(name);
  if (file === undefined) return undefined;
  let pem: string;
  try {
    pem = readFileSync(file, 'utf8');
  } catch {
    throw new ConfigError(`${name} must name a file that this process can read.`);
  }
  if (!pem.includes('-----BEGIN ')) throw new ConfigError(`${name} must name a PEM file.`);
  return pem;
}
