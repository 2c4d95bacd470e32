import { describe, expect, it } from '@jest/globals';
import { resolve } from 'node:path';
import { generateApiKey } from '../api-key-value.js';
import { generateEncryptionKey } from './encryption-keys.js';
import { ConfigError, EnvReader } from './env-reader.js';
import { readSettings } from './settings.js';

const DATABASE_URL = 'postgresql://user:password@db/signalbox';
const ENCRYPTION_KEYS = generateEncryptionKey('one');
const STRONG_KEY = generateApiKey();

/** The message of the failed start. */
function faultOf(env: Record<string, string>): string {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('The settings were accepted.');
}

describe('readSettings', () => {
  it('has defaults for all settings: an embedded, local service', () => {
    expect(readSettings({})).toEqual({
      role: 'all',
      processes: 1,
      host: '127.0.0.1',
      port: 3000,
      headersTimeoutMs: 15_000,
      requestTimeoutMs: 120_000,
      maxUnauthenticatedConnections: 1_000,
      baseUrl: undefined,
      isConsoleEnabled: true,
      dataDir: resolve('.data'),
      databaseUrl: undefined,
      redis: undefined,
      encryptionKeys: undefined,
      bootstrapOrg: 'default',
      bootstrapApiKey: undefined,
      logLevel: 'info',
      runConcurrency: 50,
      runLockMs: 30_000,
      shutdownGraceMs: 8_000,
      runTimeoutMs: 1_800_000,
      streamRetentionMs: 300_000,
      trustedIssuers: [],
      streamKeepAliveMs: 15_000,
      upstreamAllowPrivate: true,
      upstreamAllow: [],
      allowedOrigins: [],
      authorizationServerUrl: undefined,
      traceUrl: undefined,
      acceptsClientDocuments: true,
      oauthAccessTokenTtlS: 3_600,
      oauthRefreshTokenTtlS: 2_592_000,
      bootstrapOwner: undefined,
      mailFrom: undefined,
      oidc: undefined,
      smtpUrl: undefined,
      stdioOrganizations: ['default'],
      trustProxy: [],
      auditRetentionDays: 90,
      organizationCaps: {},
      filesS3: undefined,
      filesMaxMb: 20,
      retentionDayMs: 86_400_000,
      metricsHost: '127.0.0.1',
      metricsAllowedHosts: [],
      metricsPort: 9464,
      exportTraces: false,
      exportMetrics: undefined,
      stdioCommands: ['npx', 'node'],
      stdioVariables: { isRestricted: false, allowed: [] },
      stdioMaxProcesses: 32,
      stdioIdleMs: 300_000,
      gatewaySessionIdleMs: 900_000,
      stdioMaxMemoryMb: 512,
      stdioEnvironment: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    });
  });

  it('is stricter with an external database: no private upstreams, no programs', () => {
    expect(readSettings({ DATABASE_URL, ENCRYPTION_KEYS })).toMatchObject({
      databaseUrl: DATABASE_URL,
      encryptionKeys: [{ id: 'one' }],
      upstreamAllowPrivate: false,
      stdioCommands: [],
    });
  });

  it('restricts the variables of programs if STDIO_COMMANDS is set', () => {
    expect(readSettings({ STDIO_COMMANDS: 'node', STDIO_ENV_ALLOW: 'MODE, APP_*' })).toMatchObject({
      stdioVariables: { isRestricted: true, allowed: ['MODE', 'APP_*'] },
    });
    expect(faultOf({ STDIO_ENV_ALLOW: 'A-B' })).toContain('STDIO_ENV_ALLOW');
  });

  it('accepts only origins in ALLOWED_ORIGINS, with or without a trailing slash', () => {
    const { allowedOrigins } = readSettings({ ALLOWED_ORIGINS: 'https://App.example.com, http://localhost:5173/' });
    expect(allowedOrigins).toEqual(['https://app.example.com', 'http://localhost:5173']);
    for (const value of ['app.example.com', 'https://app.example.com/path', '*', 'null']) {
      expect(faultOf({ ALLOWED_ORIGINS: value })).toContain('ALLOWED_ORIGINS');
    }
  });

  it('reads all settings', () => {
    const env = {
      ROLE: 'worker',
      PORT: '0',
      BASE_URL: 'https://Signalbox.example/',
      REDIS_URL: 'rediss://cache:6380',
      BOOTSTRAP_ORG: 'acme-1',
      BOOTSTRAP_API_KEY: STRONG_KEY,
      UPSTREAM_ALLOW: 'tools.internal:8080, 10.0.0.0/8,',
      UPSTREAM_ALLOW_PRIVATE: 'false',
    };
    expect(readSettings(env)).toMatchObject({
      role: 'worker',
      port: 0,
      baseUrl: 'https://signalbox.example',
      redis: { mode: 'server', nodes: [{ host: 'cache', port: 6380 }], tls: { ca: undefined } },
      bootstrapOrg: 'acme-1',
      bootstrapApiKey: STRONG_KEY,
      upstreamAllow: ['tools.internal:8080', '10.0.0.0/8'],
      upstreamAllowPrivate: false,
    });
  });

  it('treats an empty variable as unset', () => {
    expect(readSettings({ PORT: '', DATABASE_URL: ' ', ROLE: '', BOOTSTRAP_API_KEY: '' })).toMatchObject({
      port: 3000,
      databaseUrl: undefined,
      role: 'all',
      bootstrapApiKey: undefined,
    });
  });

  it.each([
    ['ROLE', 'both'],
    ['PROCESSES', '0'],
    ['PROCESSES', '65'],
    ['PROCESSES', '5'],
    ['PROCESSES', 'all'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '3000.5'],
    ['PORT', '0x10'],
    ['PORT', 'http'],
    ['BASE_URL', 'signalbox.example'],
    ['BASE_URL', 'ftp://signalbox.example'],
    ['BASE_URL', 'https://signalbox.example/base'],
    ['DATABASE_URL', 'mysql://user:secret-in-the-url@db/x'],
    ['DATABASE_URL', 'secret-in-the-url'],
    ['REDIS_URL', 'http://:secret-in-the-url@cache'],
    ['ENCRYPTION_KEYS', 'one:c2VjcmV0LWluLXRoZS1rZXk='],
    ['BOOTSTRAP_ORG', 'Acme Inc'],
    ['BOOTSTRAP_ORG', '-acme'],
    ['BOOTSTRAP_API_KEY', 'changeme-secret'],
    ['BOOTSTRAP_API_KEY', STRONG_KEY.slice(0, -1)],
    ['LOG_LEVEL', 'loud'],
    ['RUN_CONCURRENCY', '0'],
    ['LIMIT_REQUESTS_PER_MINUTE', '0'],
    ['LIMIT_WAITING_RUNS', 'none'],
    ['RUN_LOCK_MS', '999'],
    ['SHUTDOWN_GRACE_MS', '8001'],
    ['RUN_TIMEOUT_MS', '1s'],
    ['STREAM_RETENTION_MS', '1'],
    ['STREAM_KEEP_ALIVE_MS', '1'],
    ['UPSTREAM_ALLOW_PRIVATE', 'yes'],
    ['TRACE_URL', 'https://jaeger.example.com/trace/'],
    ['TRACE_URL', 'jaeger/{traceId}'],
  ])('rejects %s=%s with one sentence that names the variable, not the value', (name, value) => {
    const sentence = faultOf({ [name]: value });
    expect(sentence).toMatch(new RegExp(`^${name}\\b[^\\n]*\\.$`));
    expect(sentence).not.toMatch(/secret|c2VjcmV0/);
    expect(sentence).not.toContain(STRONG_KEY.slice(4, 40));
  });

  it('allows the embedded database four processes, and an external one more', () => {
    expect(readSettings({ PROCESSES: '4' }).processes).toBe(4);
    expect(readSettings({ PROCESSES: '64', DATABASE_URL, ENCRYPTION_KEYS }).processes).toBe(64);
  });

  it.each([
    [1, 1, 1],
    [2, 1, 1],
    [3, 3, 3],
    [16, 4, 16],
    [96, 4, 64],
  ])('reads `auto` on %i cores as %i processes, with a database of its own as %i', (cores, embedded, external) => {
    const processesOf = (env: NodeJS.ProcessEnv): number => readSettings(env, new EnvReader(env), cores).processes;
    expect(processesOf({ PROCESSES: 'auto' })).toBe(embedded);
    expect(processesOf({ PROCESSES: 'auto', DATABASE_URL, ENCRYPTION_KEYS })).toBe(external);
  });

  it("reads the operator's caps for each organization", () => {
    const caps = { LIMIT_REQUESTS_PER_MINUTE: '1', LIMIT_RUNS_PER_MINUTE: '2', LIMIT_WAITING_RUNS: '3' };
    expect(readSettings(caps).organizationCaps).toEqual({
      requests_per_minute: 1,
      runs_per_minute: 2,
      waiting_runs: 3,
    });
    expect(readSettings({ LIMIT_CONCURRENT_RUNS: '4' }).organizationCaps).toEqual({ concurrent_runs: 4 });
  });

  it('rejects a well-formed but guessable bootstrap key', () => {
    // 43 times `a` with its correct checksum.
    const placeholder = 'sbx_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
    expect(faultOf({ BOOTSTRAP_API_KEY: `${placeholder}000000` })).toMatch(/^BOOTSTRAP_API_KEY must be/);
  });

  it('requires encryption keys for an external database', () => {
    expect(faultOf({ DATABASE_URL })).toMatch(/^ENCRYPTION_KEYS must be set/);
    expect(faultOf({ DATABASE_URL })).not.toContain('password');
  });
});

describe('telemetry settings', () => {
  it('serve metrics on the loopback and export nothing by default', () => {
    expect(readSettings({})).toMatchObject({
      metricsHost: '127.0.0.1',
      metricsPort: 9464,
      exportTraces: false,
      exportMetrics: undefined,
    });
  });

  it('accept a port, any free port, or none', () => {
    expect(readSettings({ METRICS_PORT: '9000' }).metricsPort).toBe(9000);
    expect(readSettings({ METRICS_PORT: '0' }).metricsPort).toBe(0);
    expect(readSettings({ METRICS_PORT: 'off' }).metricsPort).toBeUndefined();
  });

  it.each<[variable: string, env: Record<string, string>]>([
    ['METRICS_PORT', { METRICS_PORT: 'no' }],
    ['METRICS_PORT', { METRICS_PORT: '70000' }],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', { OTEL_EXPORTER_OTLP_PROTOCOL: 'udp', OTEL_METRICS_EXPORTER: 'otlp' }],
    ['OTEL_METRIC_EXPORT_INTERVAL', { OTEL_METRIC_EXPORT_INTERVAL: '0', OTEL_METRICS_EXPORTER: 'otlp' }],
  ])('name %s when it is bad', (variable, env) => {
    expect(() => readSettings(env)).toThrow(new RegExp(`^${variable} must be `));
  });

  const ENDPOINT = 'http://collector:4318';
  it.each<[env: Record<string, string>, traces: boolean, metrics: boolean]>([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, true, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT }, true, false],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: ENDPOINT }, false, true],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true, false],
    [{ OTEL_TRACES_EXPORTER: 'console' }, true, false],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, false, true],
    [{ OTEL_METRICS_EXPORTER: 'otlp' }, false, true],
    [{ OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, true, false],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, false, false],
  ])('find out from %j what is asked for', (env, traces, metrics) => {
    const settings = readSettings(env);

    expect(settings.exportTraces).toBe(traces);
    expect(settings.exportMetrics !== undefined).toBe(metrics);
  });

  it('accept the protocol and the interval of metrics', () => {
    const env = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };

    expect(readSettings(env).exportMetrics).toEqual({ protocol: 'grpc', intervalMs: 60_000, timeoutMs: 30_000 });
    expect(
      readSettings({
        ...env,
        OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
        OTEL_METRIC_EXPORT_INTERVAL: '500',
        OTEL_METRIC_EXPORT_TIMEOUT: '200',
      }).exportMetrics,
    ).toEqual({ protocol: 'http/json', intervalMs: 500, timeoutMs: 200 });
  });
});
