import { describe, expect, it } from '@jest/globals';
import { EnvReader } from './env-reader.js';
import { readProgramEnvironment, toStdioCommand, toVariablePattern } from './stdio-programs.js';

describe('toStdioCommand', () => {
  it.each(['node', 'npx', 'python3.12', 'my-server', '/usr/local/bin/my server'])('accepts %s', (command) => {
    expect(toStdioCommand(command)).toBe(command);
  });

  it.each(['./node', '../node', 'bin/node', '.', '..', 'node -e', '/opt/../bin/sh', 'a;b', '$(x)'])(
    'rejects %s',
    (command) => {
      expect(() => toStdioCommand(command)).toThrow('STDIO_COMMANDS must be');
    },
  );
});

describe('toVariablePattern', () => {
  it.each(['NODE_ENV', 'npm_config_*', '_x', '*'])('accepts %s', (pattern) => {
    expect(toVariablePattern(pattern)).toBe(pattern);
  });

  it.each(['A-B', '*A', 'A*B', '**', 'A=1', '1A', 'A B'])('rejects %s', (pattern) => {
    expect(() => toVariablePattern(pattern)).toThrow('STDIO_ENV_ALLOW must be');
  });
});

describe('readProgramEnvironment', () => {
  it('passes on only the variables that programs need', () => {
    const ours = { DATABASE_URL: 'postgres://secret', ENCRYPTION_KEYS: 'secret', NODE_OPTIONS: '--inspect' };
    const env = { ...ours, HOME: '/home/app', LANG: 'C.UTF-8', npm_config_cache: '/x' };
    expect(readProgramEnvironment(new EnvReader(env))).toEqual({
      HOME: '/home/app',
      LANG: 'C.UTF-8',
      PATH: '/usr/local/bin:/usr/bin:/bin',
    });
  });

  it('passes on what the operator names, but no secret of the service', () => {
    const env = { STDIO_ENV_PASS: 'NODE_EXTRA_CA_CERTS, HTTPS_PROXY,no_proxy', NODE_EXTRA_CA_CERTS: '/ca.pem', A: 'b' };
    expect(readProgramEnvironment(new EnvReader({ ...env, HTTPS_PROXY: 'http://proxy:3128' }))).toMatchObject({
      NODE_EXTRA_CA_CERTS: '/ca.pem',
      HTTPS_PROXY: 'http://proxy:3128',
    });
    expect(readProgramEnvironment(new EnvReader(env))).not.toHaveProperty('A');
    for (const name of [
      'ENCRYPTION_KEYS',
      'DATABASE_URL',
      'BOOTSTRAP_API_KEY',
      'FILES_S3_URL',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'A=B',
      '*',
    ]) {
      expect(() => readProgramEnvironment(new EnvReader({ STDIO_ENV_PASS: name }))).toThrow('STDIO_ENV_PASS must');
    }
  });

  it('removes PATH entries that depend on the working directory', () => {
    const env = { PATH: '/usr/bin::node_modules/.bin:.:/bin:' };
    expect(readProgramEnvironment(new EnvReader(env))).toEqual({ PATH: '/usr/bin:/bin' });
  });
});
