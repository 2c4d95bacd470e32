import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EnvReader } from './env-reader.js';
import { readRedisAddress } from './redis-address.js';

const read = (env: NodeJS.ProcessEnv) => readRedisAddress(new EnvReader(env));

describe('REDIS_URL', () => {
  it('names no Redis if it is unset', () => {
    expect(read({})).toBeUndefined();
  });

  it('names a server', () => {
    expect(read({ REDIS_URL: 'redis://cache' })).toEqual({
      mode: 'server',
      nodes: [{ host: 'cache', port: 6379 }],
      masterName: '',
      username: undefined,
      password: undefined,
      database: 0,
      tls: undefined,
      sentinelUsername: undefined,
      sentinelPassword: undefined,
    });
    expect(read({ REDIS_URL: 'redis://[::1]:7000/3' })).toMatchObject({
      nodes: [{ host: '::1', port: 7000 }],
      database: 3,
    });
  });

  it('names a user with a password, whose special characters are encoded', () => {
    expect(read({ REDIS_URL: 'redis://app:p%40ss%2Fword:x@cache' })).toMatchObject({
      username: 'app',
      password: 'p@ss/word:x',
    });
    expect(read({ REDIS_URL: 'redis://:only@cache' })).toMatchObject({ username: undefined, password: 'only' });
  });

  it('names Sentinels, the master, and their user', () => {
    const env = {
      REDIS_URL: 'redis+sentinel://app:secret@s1,s2:26380/main/2',
      REDIS_SENTINEL_USERNAME: 'watcher',
      REDIS_SENTINEL_PASSWORD: 'quiet',
    };
    expect(read(env)).toMatchObject({
      mode: 'sentinel',
      nodes: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 26_380 },
      ],
      masterName: 'main',
      database: 2,
      username: 'app',
      password: 'secret',
      sentinelUsername: 'watcher',
      sentinelPassword: 'quiet',
    });
  });

  it('names nodes of a cluster', () => {
    expect(read({ REDIS_URL: 'rediss+cluster://n1:7000,n2:7001' })).toMatchObject({
      mode: 'cluster',
      nodes: [
        { host: 'n1', port: 7000 },
        { host: 'n2', port: 7001 },
      ],
      tls: { ca: undefined, cert: undefined, key: undefined },
    });
  });

  it.each([
    'http://:secret@cache',
    'cache:6379',
    'redis://secret@cache:0',
    'redis://cache:65536',
    'redis://secret%zz@cache',
    'redis://',
    'redis://one,two',
    'redis://cache/zero',
    'redis://cache/0/1',
    'redis://cache?password=secret',
    'redis+sentinel://one,two',
    'redis+sentinel://one/main/x',
    'redis+cluster://one/1',
    'redis+cluster://one,,two',
    'redis+secret://one',
  ])('rejects %s with one sentence that does not contain the value', (url) => {
    expect(() => read({ REDIS_URL: url })).toThrow(/^REDIS_URL must [^\n]*\.$/);
    expect(() => read({ REDIS_URL: url })).not.toThrow(/secret/);
  });
});

describe('the files of a TLS connection', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redis-address-'));
  const pem = join(folder, 'pem');
  writeFileSync(pem, '-----BEGIN CERTIFICATE-----\n');
  const other = join(folder, 'other');
  writeFileSync(other, 'not a certificate\n');
  const REDIS_URL = 'rediss://cache';

  it('are read', () => {
    const env = { REDIS_URL, REDIS_CA_FILE: pem, REDIS_CERT_FILE: pem, REDIS_KEY_FILE: pem };
    const text = '-----BEGIN CERTIFICATE-----\n';
    expect(read(env)?.tls).toEqual({ ca: text, cert: text, key: text });
  });

  it.each([
    [{ REDIS_CA_FILE: join(folder, 'missing') }, /^REDIS_CA_FILE must name a file/],
    [{ REDIS_CA_FILE: other }, /^REDIS_CA_FILE must name a PEM file/],
    [{ REDIS_CERT_FILE: pem }, /^REDIS_CERT_FILE and REDIS_KEY_FILE must be set together/],
  ])('are rejected with a sentence that names the variable: %j', (env, sentence) => {
    expect(() => read({ REDIS_URL, ...env })).toThrow(sentence);
  });
});
