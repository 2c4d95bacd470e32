/**
 * What the documentation says about a setting, in addition to what `readSettings` shows: its range, its values, its
 * default.
 */
export interface SettingText {
  /** One or two sentences, with links as on a page below `docs/`. */
  readonly meaning: string;
  /** In place of the default that `readSettings` has, if that depends on something. Code is in backticks. */
  readonly fallback?: string;
  /** In place of the values that `readSettings` has. */
  readonly values?: string;
  /** What `.env.example` shows in place of the default. */
  readonly example?: string;
}

/**
 * Every setting by its section. `npm run docs:reference` writes `docs/configuration.md` and `.env.example` from this
 * table.
 */
export const SETTING_TEXTS: Readonly<Record<string, Readonly<Record<string, SettingText>>>> = {
  'Process and address': {
    ROLE: { meaning: 'What this process serves: HTTP (`api`), runs and webhooks (`worker`), or both.' },
    PROCESSES: {
      meaning:
        'How many service processes share the port; `auto` is one for each core if there are more than two, otherwise ' +
        'one. The embedded database has room for 4 ([all cores](operations.md#all-cores)).',
      fallback: '`1`; `npm start`: `auto`',
      values: '1 to 64, `auto`',
    },
    HOST: { meaning: 'The address to listen on.', fallback: '`127.0.0.1`' },
    PORT: { meaning: 'The port to listen on; `0` chooses a free one.' },
    BASE_URL: {
      meaning: 'The origin that callers use, without a path; also the OAuth issuer.',
      fallback: 'derived from `HOST` and `PORT`',
      example: 'https://signalbox.example.com',
    },
    TRUST_PROXY: {
      meaning: 'Addresses or ranges (CIDR) of proxies whose `X-Forwarded-*` headers count, separated by commas.',
      example: '10.0.0.0/8',
    },
    CONSOLE: { meaning: '`off`: no web console, and no signed-in browser as a caller of the API.' },
    ALLOWED_ORIGINS: {
      meaning:
        "Origins of web pages that can call `/api/**` (CORS), in addition to the service's own, separated by commas.",
    },
    LOG_LEVEL: { meaning: 'The least severe level that the log contains.' },
  },
  Callers: {
    HEADERS_TIMEOUT_MS: { meaning: 'Time limit for receiving the headers of a request.' },
    REQUEST_TIMEOUT_MS: {
      meaning: 'Time limit for receiving a request, including its body.',
      values: '`HEADERS_TIMEOUT_MS` to 3600000',
    },
    MAX_UNAUTHENTICATED_CONNECTIONS: {
      meaning:
        'TCP connections without a verified credential, of which one address has at most a quarter; above it, the ' +
        'oldest close.',
    },
    ANSWER_MEMORY_MB: {
      meaning:
        'Memory of all large answers in flight. More of them wait, then get 503 ([notes](operations/limits.md#notes)).',
      fallback: 'an eighth of the heap',
      example: '512',
    },
  },
  Storage: {
    DATABASE_URL: {
      meaning:
        'The PostgreSQL server, version 15 or later. A pooler must use session pooling. Unset: the service runs a ' +
        'PostgreSQL 18 of its own in `DATA_DIR` ("embedded").',
      fallback: 'embedded PostgreSQL 18',
      example: 'postgres://signalbox:password@127.0.0.1:5432/signalbox',
    },
    DATA_DIR: {
      meaning: 'Folder of the embedded PostgreSQL, its password, and the generated encryption key.',
      fallback: '`.data`',
    },
    REDIS_URL: {
      meaning:
        'Redis or Valkey for the queue and live streams: a server, Sentinels or a cluster ' +
        '([forms](operations/redis.md#redis-as-you-run-it)).',
      fallback: 'none (uses PostgreSQL)',
      example: 'redis://127.0.0.1:6379',
    },
    REDIS_CA_FILE: {
      meaning: 'PEM file of the authority of a Redis with TLS (`rediss`).',
      fallback: 'those of Node.js',
    },
    REDIS_CERT_FILE: { meaning: 'PEM file of the client certificate for Redis.' },
    REDIS_KEY_FILE: { meaning: 'PEM file of the key of that certificate.' },
    REDIS_SENTINEL_USERNAME: { meaning: 'The user of the Sentinels.' },
    REDIS_SENTINEL_PASSWORD: { meaning: 'The password of the Sentinels.' },
    ENCRYPTION_KEYS: {
      meaning:
        '`id:base64-of-32-bytes[,…]`: the first key encrypts, all keys decrypt ' +
        '([rotation](operations.md#encryption-keys)). To make one: `echo "main:$(openssl rand -base64 32)"`. ' +
        'Required with `DATABASE_URL`.',
      fallback: 'generated, embedded only',
    },
    AUDIT_RETENTION_DAYS: {
      meaning: 'Retention of the [records](operations/audit.md) in days; `0` keeps them forever.',
    },
    RETENTION_DAY_MS: { meaning: 'The length of a day of retention settings; shorter only in tests.' },
  },
  'First start': {
    BOOTSTRAP_ORG: {
      meaning: 'Slug of the first organization, which cannot be changed later.',
      fallback: '`default`',
    },
    BOOTSTRAP_API_KEY: {
      meaning: 'The first API key ([how to generate one](operations.md#deployment)).',
      fallback: 'generated and printed once',
    },
    BOOTSTRAP_OWNER_EMAIL: {
      meaning:
        'Address of the first owner. Without it, the start prints a link to a setup page until there is an owner.',
    },
    BOOTSTRAP_OWNER_PASSWORD: { meaning: 'Password of the first owner, of at least 12 characters.' },
  },
  People: {
    OIDC_ISSUER: {
      meaning: 'An OpenID issuer with which people can also sign in ([identity](identity.md)).',
      example: 'https://issuer.example.com',
    },
    OIDC_CLIENT_ID: { meaning: "The service's registration there, for the callback `<BASE_URL>/auth/oidc/callback`." },
    OIDC_CLIENT_SECRET: { meaning: 'The secret of that registration.' },
    SMTP_URL: {
      meaning: 'Mail server for invitations and password resets.',
      example: 'smtps://user:password@mail.example.com',
    },
    MAIL_FROM: {
      meaning: 'The sender of these mails.',
      fallback: '`no-reply` at the host of `BASE_URL`',
      example: 'Signalbox <no-reply@example.com>',
    },
  },
  OAuth: {
    AUTHORIZATION_SERVER_URL: {
      meaning: 'Another OAuth server that the metadata of resources names.',
      fallback: 'this service',
    },
    OAUTH_CLIENT_DOCUMENTS: {
      meaning:
        '`off`: OAuth clients cannot name a metadata document that the service fetches; they register themselves.',
    },
    OAUTH_ACCESS_TOKEN_TTL_S: { meaning: 'Lifetime of access tokens in seconds.' },
    OAUTH_REFRESH_TOKEN_TTL_S: { meaning: 'Time without use after which a refresh token expires, in seconds.' },
    TRUSTED_ISSUERS: {
      meaning:
        'OpenID providers whose JWTs are accepted for members: a JSON list of `{issuer, audience, algorithms?, ' +
        'email_claim?, id_jag?}` ([identity](identity.md#tokens-of-your-openid-providers)).',
      example: '[{"issuer":"https://issuer.example.com","audience":"signalbox"}]',
    },
  },
  Files: {
    FILES_S3_URL: {
      meaning:
        'A bucket with the API of Amazon S3 in which files are stored, with its key: `https://<key id>:<secret>@<server>/' +
        '<bucket>?region=<region>` ([files](api/files.md#where-files-are-stored)).',
      fallback: 'none (uses PostgreSQL)',
      example: 'https://key:secret@s3.example.com/signalbox?region=eu-central-1',
    },
    FILES_MAX_MB: { meaning: 'The largest file that can be uploaded, in MiB.' },
  },
  'Runs and streams': {
    RUN_CONCURRENCY: { meaning: 'Parallel runs per worker.' },
    RUN_LOCK_MS: {
      meaning:
        'Time within which a worker that is stopped or cut off counts as dead. The death of a process is noticed ' +
        'within two seconds.',
    },
    RUN_TIMEOUT_MS: { meaning: 'Time limit of a run.' },
    SHUTDOWN_GRACE_MS: { meaning: 'How long a shutdown waits for runs to finish before it hands them over.' },
    STREAM_RETENTION_MS: { meaning: 'How long a stream stays readable after its last chunk.' },
    STREAM_KEEP_ALIVE_MS: { meaning: 'Interval of comments on an idle stream.' },
  },
  Caps: {
    LIMIT_REQUESTS_PER_MINUTE: {
      meaning: 'Cap of the HTTP requests of each organization ([limits](limits.md)).',
      fallback: 'none',
    },
    LIMIT_RUNS_PER_MINUTE: { meaning: 'Cap of the requests for runs of each organization.', fallback: 'none' },
    LIMIT_CONCURRENT_RUNS: {
      meaning: 'Cap of the runs in progress of each organization; more of them wait.',
      fallback: 'none',
    },
    LIMIT_WAITING_RUNS: {
      meaning: 'Cap of the waiting runs of each organization; more of them are refused.',
      fallback: 'none',
    },
    LIMIT_FILE_BYTES: { meaning: 'Cap of the bytes of all files of each organization.', fallback: 'none' },
  },
  Upstreams: {
    UPSTREAM_ALLOW_PRIVATE: {
      meaning: 'Whether connections, providers and webhooks can use private networks.',
      fallback: '`true` when embedded, otherwise `false`',
    },
    UPSTREAM_ALLOW: { meaning: 'Allowed exceptions: `host`, `host:port`, or CIDR, separated by commas.' },
    GATEWAY_SESSION_IDLE_MS: {
      meaning: 'Time after which the upstream sessions of an unused client session, thread, or caller end.',
    },
  },
  Programs: {
    STDIO_COMMANDS: {
      meaning:
        'Commands that connections can run on this machine, separated by commas ([programs](operations/programs.md)).',
      fallback: '`npx,node` when embedded, otherwise none',
    },
    STDIO_ORGANIZATIONS: {
      meaning: 'Slugs of the organizations that can run programs, regardless of roles and keys.',
      fallback: 'that of `BOOTSTRAP_ORG`',
    },
    STDIO_ENV_ALLOW: {
      meaning: 'Variables that connections can set if `STDIO_COMMANDS` is set: names, or prefixes such as `APP_*`.',
    },
    STDIO_ENV_PASS: {
      meaning: 'Variables of the service that programs get too, such as `HTTPS_PROXY,NODE_EXTRA_CA_CERTS`.',
    },
    STDIO_MAX_PROCESSES: { meaning: 'Maximum number of programs; an idle one makes room.' },
    STDIO_IDLE_MS: { meaning: 'Time after which an unused program is stopped.' },
    STDIO_MAX_MEMORY_MB: { meaning: 'Memory limit of a program; above it, the program is stopped.' },
  },
  Telemetry: {
    METRICS_HOST: {
      meaning: 'Address of the Prometheus endpoint, which has no authentication.',
      fallback: '`127.0.0.1`',
    },
    METRICS_PORT: { meaning: 'Its port; `0` chooses a free one, `off` disables it.', values: '0 to 65535, `off`' },
    METRICS_ALLOWED_HOSTS: { meaning: 'Additional host names that scrapers use for that port.' },
    TRACE_URL: {
      meaning: 'Where a trace can be seen: an address with `{traceId}` in it, to which runs link.',
      example: 'https://jaeger.example.com/trace/{traceId}',
    },
    OTEL_SDK_DISABLED: { meaning: '`true`: no OTLP export.' },
    OTEL_EXPORTER_OTLP_ENDPOINT: { meaning: 'Where traces and metrics are sent. Unset: nowhere.' },
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { meaning: 'The same for traces only.' },
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: { meaning: 'The same for metrics only.' },
    OTEL_EXPORTER_OTLP_PROTOCOL: { meaning: 'The protocol of the export.' },
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: {
      meaning: 'The same for metrics only.',
      fallback: 'that of `OTEL_EXPORTER_OTLP_PROTOCOL`',
    },
    OTEL_TRACES_EXPORTER: { meaning: '`otlp` exports traces, `none` does not.' },
    OTEL_METRICS_EXPORTER: { meaning: '`otlp` exports metrics, `none` does not.' },
    OTEL_METRIC_EXPORT_INTERVAL: { meaning: 'Milliseconds between two exports of metrics.' },
    OTEL_METRIC_EXPORT_TIMEOUT: { meaning: 'Time limit of an export of metrics in milliseconds.' },
  },
};
