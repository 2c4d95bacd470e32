import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { readSettings } from '../../src/core/config/settings.js';
import { settingNames } from '../support/setting-names.js';

interface ComposeFile {
  services: Record<string, { environment: Record<string, string | number | null> }>;
}

const OF_OPENTELEMETRY = /^OTEL_/;
/** For the tests of the service only, and for the embedded database only. */
const NOT_IN_COMPOSE = ['DATA_DIR', 'RETENTION_DAY_MS'];
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** The value that Compose computes from `${NAME}`, `${NAME:-default}` and `${NAME:?message}`. */
function interpolate(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_match, name: string, form?: string, word = '') => {
    const value = env[name] ?? '';
    if (value !== '' || form === undefined) return value;
    if (form === '-') return word;
    throw new Error(`${name}: ${word}`);
  });
}

/** The environment of a service of Compose. A variable without a value is handed on if it is set. */
function composeEnvironment(service: string, env: Readonly<Record<string, string>>): Record<string, string> {
  const { services } = parse(read('compose.yaml'), { merge: true }) as ComposeFile;
  return Object.fromEntries(
    Object.entries(services[service]?.environment ?? {}).flatMap(([name, value]) => {
      const resolved = value === null ? env[name] : interpolate(String(value), env);
      return resolved === undefined ? [] : [[name, resolved]];
    }),
  );
}

describe('the settings of src/core/config', () => {
  it.each(['api', 'worker'])('are all in compose.yaml for the service %s, and no others', (service) => {
    const { services } = parse(read('compose.yaml'), { merge: true }) as ComposeFile;
    const names = Object.keys(services[service]?.environment ?? {});
    const known = settingNames().filter((name) => !NOT_IN_COMPOSE.includes(name));
    expect(names.filter((name) => !OF_OPENTELEMETRY.test(name)).toSorted()).toEqual(
      known.filter((name) => !OF_OPENTELEMETRY.test(name)),
    );
    expect(names).toEqual(expect.arrayContaining(known));
  });
});

describe('compose.yaml', () => {
  const secrets = {
    POSTGRES_PASSWORD: 'c0ffee',
    ENCRYPTION_KEYS: generateEncryptionKey('main'),
    BOOTSTRAP_API_KEY: generateApiKey(),
  };

  it.each(['api', 'worker'])('starts the service %s with settings that it accepts', (service) => {
    expect(readSettings(composeEnvironment(service, secrets))).toMatchObject({
      role: service,
      port: 3000,
      host: '0.0.0.0',
      databaseUrl: 'postgres://signalbox:c0ffee@postgres:5432/signalbox',
      redis: { mode: 'server', nodes: [{ host: 'redis', port: 6379 }] },
      metricsAllowedHosts: ['api', 'worker'],
      stdioOrganizations: ['default'],
      runConcurrency: 50,
    });
  });

  it('hands on what is set', () => {
    const env = { ...secrets, RUN_CONCURRENCY: '7', LOG_LEVEL: 'warn', BASE_URL: 'https://signalbox.example.com' };
    expect(readSettings(composeEnvironment('worker', env))).toMatchObject({
      runConcurrency: 7,
      logLevel: 'warn',
      baseUrl: 'https://signalbox.example.com',
    });
  });

  it.each(Object.keys(secrets))('refuses to start without %s', (name) => {
    expect(() => composeEnvironment('api', { ...secrets, [name]: '' })).toThrow(name);
  });
});
