import { readS3Address, type S3Address } from './s3-address.js';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type CountLimits, MAX_FILE_BYTES, MAX_LIMIT_VALUE } from '../limits.js';
import { isLoopback } from '../loopback.js';
import { isStrongApiKey, isWellFormedApiKey } from '../api-key-value.js';
import { ConfigError, EnvReader } from './env-reader.js';
import { type EncryptionKey, parseEncryptionKeys } from './encryption-keys.js';
import { type RedisAddress, readRedisAddress } from './redis-address.js';
import { readProgramEnvironment, toStdioCommand, toVariablePattern } from './stdio-programs.js';
import { parseTrustedIssuers, type TrustedIssuer } from './trusted-issuers.js';

/** The parts of the service that this process runs. */
type Role = 'all' | 'api' | 'worker';

/** The validated environment. Contains secrets: never log it. */
export interface Settings {
  role: Role;
  /** How many service processes share the port. Above 1, this process starts and watches them. */
  processes: number;
  host: string;
  port: number;
  /** Time limits for the headers of a request and for the whole request, in milliseconds. */
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** Limit of caller connections without a verified credential. */
  maxUnauthenticatedConnections: number;
  /** Limit of the memory of all responses in flight, in bytes; undefined for an eighth of the heap. */
  answerMemoryBytes: number | undefined;
  baseUrl: string | undefined;
  /** Whether the web console is served. */
  isConsoleEnabled: boolean;
  dataDir: string;
  databaseUrl: string | undefined;
  redis: RedisAddress | undefined;
  encryptionKeys: readonly EncryptionKey[] | undefined;
  bootstrapOrg: string;
  bootstrapApiKey: string | undefined;
  /** The owner of the first organization, made by a start that finds none. */
  bootstrapOwner: { readonly email: string; readonly password: string } | undefined;
  /** Addresses (CIDR) of proxies whose `X-Forwarded-*` headers count. */
  trustProxy: readonly string[];
  smtpUrl: string | undefined;
  mailFrom: string | undefined;
  /** The OpenID issuer with which people can sign in. */
  oidc: { readonly issuer: string; readonly clientId: string; readonly clientSecret: string } | undefined;
  logLevel: string;
  runConcurrency: number;
  runLockMs: number;
  /** How long a shutdown waits for runs to finish before it hands them over. */
  shutdownGraceMs: number;
  runTimeoutMs: number;
  streamRetentionMs: number;
  streamKeepAliveMs: number;
  upstreamAllowPrivate: boolean;
  upstreamAllow: readonly string[];
  /** How long audit records are kept; 0 keeps them forever. */
  auditRetentionDays: number;
  /** The operator's limits for each organization; an absent one does not apply. */
  organizationCaps: CountLimits;
  /** Where files are stored; undefined: in the database. */
  filesS3: S3Address | undefined;
  filesMaxMb: number;
  /** The length of a day of the organizations' retention settings, in milliseconds: shorter only in tests. */
  retentionDayMs: number;
  /** The slugs of the organizations whose members and keys can run programs, whatever their permissions. */
  stdioOrganizations: readonly string[];
  /** Commands that STDIO connections can run: bare names, looked up on the PATH, or absolute paths. */
  stdioCommands: readonly string[];
  /** The variables that STDIO connections can set. Restricted if `STDIO_COMMANDS` is set. */
  stdioVariables: { readonly isRestricted: boolean; readonly allowed: readonly string[] };
  /** Limit of concurrent STDIO programs of this process. */
  stdioMaxProcesses: number;
  stdioIdleMs: number;
  /** How long the upstream sessions of an unused gateway session are kept. */
  gatewaySessionIdleMs: number;
  /** Limit of the resident memory of a program and its child processes, in MiB. */
  stdioMaxMemoryMb: number;
  /** The variables that a program inherits from this process. Contains no secret of the service. */
  stdioEnvironment: Readonly<Record<string, string>>;
  /** Origins of web pages that can call the API, in addition to the service's own origin. */
  allowedOrigins: readonly string[];
  /** The OAuth authorization server that the protected-resource metadata names (RFC 9728). */
  authorizationServerUrl: string | undefined;
  /** Whether OAuth clients can name the address of a metadata document instead of registering. */
  acceptsClientDocuments: boolean;
  /** Lifetimes of the authorization server's tokens, in seconds. */
  oauthAccessTokenTtlS: number;
  oauthRefreshTokenTtlS: number;
  /** OpenID providers whose tokens are accepted for members. */
  trustedIssuers: readonly TrustedIssuer[];
  metricsHost: string;
  /** 0: any free port. Undefined (`off`): no metrics for Prometheus. */
  metricsPort: number | undefined;
  /** Host names that the metrics server accepts, in addition to loopback names and its own address. */
  metricsAllowedHosts: readonly string[];
  /** Whether the `OTEL_*` variables enable traces. */
  exportTraces: boolean;
  /** Where a trace can be seen: an address with `{traceId}` in place of the id. */
  traceUrl: string | undefined;
  /** Set if the `OTEL_*` variables enable metrics. */
  exportMetrics: OtlpMetrics | undefined;
}

/** Options of the OTLP metric export. The protocols are those of `OTEL_EXPORTER_OTLP_PROTOCOL`. */
export interface OtlpMetrics {
  protocol: (typeof OTLP_PROTOCOLS)[number];
  intervalMs: number;
  timeoutMs: number;
}

const OTLP_PROTOCOLS = ['http/protobuf', 'http/json', 'grpc'] as const;

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Whether the text can name an organization in paths. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

const MAX_PROCESSES = 64;
/** A process opens up to 40 connections to the database, of 200 that the embedded one has. */
const MAX_PROCESSES_EMBEDDED = 4;
/** Up to this number of cores, a second process would only take time from the first one and from the database. */
const CORES_OF_ONE_PROCESS = 2;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/**
 * Reads and validates the environment. The only other reader is the OpenTelemetry SDK: this function decides whether to
 * load it, and it then reads the standard `OTEL_*` variables (endpoints, headers, sampler, limits, resource) from
 * `process.env`.
 * @param read only the documentation passes one, which records what is read
 * @param cores that the process can use
 * @throws ConfigError with a message that names the variable
 */
export function readSettings(
  env: NodeJS.ProcessEnv,
  read = new EnvReader(env),
  cores = availableParallelism(),
): Settings {
  const databaseUrl = read.url('DATABASE_URL', ['postgres:', 'postgresql:']);
  const embedded = databaseUrl === undefined;
  const keys = read.text('ENCRYPTION_KEYS');
  if (keys === undefined && !embedded) {
    throw new ConfigError(
      'ENCRYPTION_KEYS must be set if DATABASE_URL is set: `id:` and 32 random bytes in base64 (openssl rand ' +
        '-base64 32).',
    );
  }
  const bootstrapOrg = read.text('BOOTSTRAP_ORG') ?? 'default';
  if (!SLUG.test(bootstrapOrg)) {
    throw new ConfigError('BOOTSTRAP_ORG must be a slug: 1 to 63 of a-z, 0-9 and -, without a leading or trailing -.');
  }
  const bootstrapApiKey = read.text('BOOTSTRAP_API_KEY');
  if (bootstrapApiKey !== undefined && !(isWellFormedApiKey(bootstrapApiKey) && isStrongApiKey(bootstrapApiKey))) {
    throw new ConfigError(
      'BOOTSTRAP_API_KEY must be a generated key: `sbx_`, 43 random characters and their checksum.',
    );
  }
  const headersTimeoutMs = read.integer('HEADERS_TIMEOUT_MS', 100, 600_000, 15_000);
  return {
    role: read.oneOf('ROLE', ['all', 'api', 'worker'], 'all'),
    processes: readProcesses(read, embedded, cores),
    host: read.text('HOST') ?? '127.0.0.1',
    port: read.integer('PORT', 0, 65_535, 3000),
    headersTimeoutMs,
    requestTimeoutMs: read.integer('REQUEST_TIMEOUT_MS', headersTimeoutMs, 3_600_000, 120_000),
    maxUnauthenticatedConnections: read.integer('MAX_UNAUTHENTICATED_CONNECTIONS', 16, 1_000_000, 1_000),
    answerMemoryBytes: readAnswerMemory(read),
    baseUrl: readBaseUrl(read),
    isConsoleEnabled: read.oneOf('CONSOLE', ['on', 'off'], 'on') === 'on',
    dataDir: resolve(read.text('DATA_DIR') ?? '.data'),
    databaseUrl,
    redis: readRedisAddress(read),
    encryptionKeys: keys === undefined ? undefined : parseEncryptionKeys(keys),
    bootstrapOrg,
    bootstrapApiKey,
    bootstrapOwner: readBootstrapOwner(read),
    trustProxy: read.list('TRUST_PROXY', []).map(toAddressRange),
    smtpUrl: read.url('SMTP_URL', ['smtp:', 'smtps:']),
    mailFrom: read.text('MAIL_FROM'),
    oidc: readOidc(read),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    runConcurrency: read.integer('RUN_CONCURRENCY', 1, 1000, 50),
    runLockMs: read.integer('RUN_LOCK_MS', 1000, 600_000, 30_000),
    // A process ends within 15 s of SIGTERM in any case.
    shutdownGraceMs: read.integer('SHUTDOWN_GRACE_MS', 0, 8_000, 8_000),
    runTimeoutMs: read.integer('RUN_TIMEOUT_MS', 1000, 86_400_000, 1_800_000),
    streamRetentionMs: read.integer('STREAM_RETENTION_MS', 1000, 86_400_000, 300_000),
    streamKeepAliveMs: read.integer('STREAM_KEEP_ALIVE_MS', 100, 300_000, 15_000),
    upstreamAllowPrivate: read.flag('UPSTREAM_ALLOW_PRIVATE', embedded),
    upstreamAllow: read.list('UPSTREAM_ALLOW', []),
    auditRetentionDays: read.integer('AUDIT_RETENTION_DAYS', 0, 36_500, 90),
    organizationCaps: readOrganizationCaps(read),
    filesS3: readS3Address(read, 'FILES_S3_URL'),
    filesMaxMb: read.integer('FILES_MAX_MB', 1, 1024, 20),
    retentionDayMs: read.integer('RETENTION_DAY_MS', 1, 86_400_000, 86_400_000),
    metricsHost: read.text('METRICS_HOST') ?? '127.0.0.1',
    metricsPort: read.text('METRICS_PORT') === 'off' ? undefined : read.integer('METRICS_PORT', 0, 65_535, 9464),
    metricsAllowedHosts: read.list('METRICS_ALLOWED_HOSTS', []),
    exportTraces: isExported(read, 'TRACES', () => true),
    traceUrl: readTraceUrl(read),
    exportMetrics: isExported(read, 'METRICS', (exporter) => exporter === 'otlp') ? readOtlpMetrics(read) : undefined,
    stdioOrganizations: read.list('STDIO_ORGANIZATIONS', [bootstrapOrg]).map(toSlug),
    stdioCommands: read.list('STDIO_COMMANDS', embedded ? ['npx', 'node'] : []).map(toStdioCommand),
    stdioVariables: {
      isRestricted: read.list('STDIO_COMMANDS', []).length > 0,
      allowed: read.list('STDIO_ENV_ALLOW', []).map(toVariablePattern),
    },
    stdioMaxProcesses: read.integer('STDIO_MAX_PROCESSES', 1, 10_000, 32),
    stdioIdleMs: read.integer('STDIO_IDLE_MS', 100, 86_400_000, 300_000),
    gatewaySessionIdleMs: read.integer('GATEWAY_SESSION_IDLE_MS', 1000, 86_400_000, 900_000),
    stdioMaxMemoryMb: read.integer('STDIO_MAX_MEMORY_MB', 16, 1_048_576, 512),
    stdioEnvironment: readProgramEnvironment(read),
    allowedOrigins: read.list('ALLOWED_ORIGINS', []).map(toOrigin),
    acceptsClientDocuments: read.oneOf('OAUTH_CLIENT_DOCUMENTS', ['on', 'off'], 'on') === 'on',
    oauthAccessTokenTtlS: read.integer('OAUTH_ACCESS_TOKEN_TTL_S', 1, 86_400, 3_600),
    oauthRefreshTokenTtlS: read.integer('OAUTH_REFRESH_TOKEN_TTL_S', 1, 31_536_000, 2_592_000),
    trustedIssuers: parseTrustedIssuers(read.text('TRUSTED_ISSUERS') ?? '[]'),
    authorizationServerUrl: read.url('AUTHORIZATION_SERVER_URL', ['http:', 'https:']),
  };
}

function readProcesses(read: EnvReader, embedded: boolean, cores: number): number {
  const max = embedded ? MAX_PROCESSES_EMBEDDED : MAX_PROCESSES;
  if (read.text('PROCESSES') === 'auto') return cores > CORES_OF_ONE_PROCESS ? Math.min(max, cores) : 1;
  const processes = read.integer('PROCESSES', 1, MAX_PROCESSES, 1);
  if (processes <= max) return processes;
  throw new ConfigError(`PROCESSES must be at most ${max} with the embedded database. Set DATABASE_URL for more.`);
}

function readAnswerMemory(read: EnvReader): number | undefined {
  if (read.text('ANSWER_MEMORY_MB') === undefined) return undefined;
  return read.integer('ANSWER_MEMORY_MB', 8, 1_048_576, 8) * 1024 * 1024;
}

function readOrganizationCaps(read: EnvReader): CountLimits {
  const names = ['requests_per_minute', 'runs_per_minute', 'concurrent_runs', 'waiting_runs', 'file_bytes'] as const;
  const variables = names.map((name) => [name, `LIMIT_${name.toUpperCase()}`] as const);
  return Object.fromEntries(
    variables
      .filter(([, variable]) => read.text(variable) !== undefined)
      .map(([name, variable]) => {
        const max = name === 'file_bytes' ? MAX_FILE_BYTES : MAX_LIMIT_VALUE;
        return [name, read.integer(variable, 1, max, max)];
      }),
  );
}

function readBootstrapOwner(read: EnvReader): Settings['bootstrapOwner'] {
  const [email, password] = [read.text('BOOTSTRAP_OWNER_EMAIL'), read.text('BOOTSTRAP_OWNER_PASSWORD')];
  if (email === undefined && password === undefined) return undefined;
  if (email === undefined || password === undefined) {
    throw new ConfigError('BOOTSTRAP_OWNER_EMAIL and BOOTSTRAP_OWNER_PASSWORD must be set together.');
  }
  if (email.length > 254 || !/^[^\s@<>"]+@[^\s@<>"]+$/.test(email)) {
    throw new ConfigError('BOOTSTRAP_OWNER_EMAIL must be an e-mail address.');
  }
  return { email, password };
}

function readOidc(read: EnvReader): Settings['oidc'] {
  const issuer = read.url('OIDC_ISSUER', ['https:', 'http:']);
  const [clientId, clientSecret] = [read.text('OIDC_CLIENT_ID'), read.text('OIDC_CLIENT_SECRET')];
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError('OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set together.');
  }
  if (!issuer.startsWith('https:') && !isLoopback(new URL(issuer))) {
    throw new ConfigError('OIDC_ISSUER must start with https:// unless it is on this machine.');
  }
  return { issuer, clientId, clientSecret };
}

function toAddressRange(text: string): string {
  const [address = '', bits, ...rest] = text.split('/');
  const max = isIP(address) === 6 ? 128 : 32;
  const isRange =
    isIP(address) !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= max));
  if (isRange) return text;
  throw new ConfigError('TRUST_PROXY must be addresses or ranges such as 10.0.0.0/8, separated by commas.');
}

function toSlug(text: string): string {
  if (SLUG.test(text)) return text;
  throw new ConfigError('STDIO_ORGANIZATIONS must be slugs of organizations, separated by commas.');
}

/** The issuer of the authorization server, and a part of every resource: clients compare it letter by letter. */
function readBaseUrl(read: EnvReader): string | undefined {
  const text = read.url('BASE_URL', ['http:', 'https:'])?.replace(/\/+$/, '');
  if (text !== undefined && new URL(text).origin !== text.toLowerCase()) {
    throw new ConfigError('BASE_URL must be an origin such as https://signalbox.example.com, without a path.');
  }
  return text?.toLowerCase();
}

function readTraceUrl(read: EnvReader): string | undefined {
  const template = read.url('TRACE_URL', ['http:', 'https:']);
  if (template === undefined || template.includes('{traceId}')) return template;
  throw new ConfigError('TRACE_URL must contain {traceId}, such as https://jaeger.example.com/trace/{traceId}.');
}

function toOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.origin === 'null' || url.origin !== text.toLowerCase().replace(/\/$/, '')) {
    throw new ConfigError('ALLOWED_ORIGINS must be origins such as https://app.example.com, separated by commas.');
  }
  return url.origin;
}

/**
 * Whether a signal is exported: by exporter name (`OTEL_TRACES_EXPORTER`), otherwise if an endpoint is set. Unlike in
 * the OpenTelemetry specification, the default is no export.
 */
function isExported(read: EnvReader, signal: 'TRACES' | 'METRICS', counts: (exporter: string) => boolean): boolean {
  if (read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return false;
  const exporters = read.list(`OTEL_${signal}_EXPORTER`, []);
  if (exporters.includes('none')) return false;
  if (exporters.length > 0) return exporters.some(counts);
  return ['OTEL_EXPORTER_OTLP_ENDPOINT', `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`].some(
    (name) => read.text(name) !== undefined,
  );
}

function readOtlpMetrics(read: EnvReader): OtlpMetrics {
  const protocol = read.oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', OTLP_PROTOCOLS, 'http/protobuf');
  return {
    protocol: read.oneOf('OTEL_EXPORTER_OTLP_METRICS_PROTOCOL', OTLP_PROTOCOLS, protocol),
    intervalMs: read.integer('OTEL_METRIC_EXPORT_INTERVAL', 1, 86_400_000, 60_000),
    timeoutMs: read.integer('OTEL_METRIC_EXPORT_TIMEOUT', 1, 86_400_000, 30_000),
  };
}
