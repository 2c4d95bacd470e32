import { describe, expect, it } from '@jest/globals';
import { environmentFaults, isForbiddenVariable, isSettable } from './environment-faults.js';

const OPEN = { isRestricted: false, allowed: [] };

describe('environmentFaults', () => {
  it('has nothing against ordinary variables', () => {
    const env = { API_TOKEN: 'x', _private: '', lower: 'ü', PRIVATE_KEY: '-----BEGIN\nabc\n', NODE_ENV: 'production' };
    expect(environmentFaults(env, OPEN)).toEqual([]);
  });

  it.each(['PATH', 'path', 'HOME', 'NODE_OPTIONS', 'node_options', 'LD_AUDIT', 'DYLD_INSERT_LIBRARIES', 'BASH_ENV'])(
    'refuses %s',
    (name) => expect(environmentFaults({ [name]: 'x' }, OPEN)).toMatchObject([{ name }]),
  );

  it.each(['npm_config_registry', 'NPM_CONFIG_SCRIPT_SHELL', 'UV_INDEX_URL', 'PYTHONPATH', 'XDG_CONFIG_HOME'])(
    'knows that %s decides which code runs',
    (name) => expect(isForbiddenVariable(name)).toBe(true),
  );

  it.each(['', '1A', 'A-B', 'A=B', 'A B', 'Ä', 'BASH_FUNC_x%%', 'A\n', 'a'.repeat(129)])(
    'refuses the name %j',
    (name) => {
      expect(environmentFaults({ [name]: 'x' }, OPEN)).toMatchObject([{ name }]);
    },
  );

  it('bounds the number and the size of all together, and quotes no value', () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`A${n}`, '']));
    expect(environmentFaults(many, OPEN)).toEqual([{ name: null, message: 'At most 64 variables can be stored.' }]);
    const large = Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`A${n}`, 'secret'.repeat(2_500)]));
    const faults = environmentFaults(large, OPEN);
    expect(faults).toMatchObject([{ name: null }]);
    expect(JSON.stringify(faults)).not.toContain('secret');
  });
});

describe('isSettable', () => {
  const restricted = (...allowed: string[]) => ({ isRestricted: true, allowed });

  it.each([
    'GITHUB_PERSONAL_ACCESS_TOKEN',
    'BRAVE_API_KEY',
    'AWS_ACCESS_KEY_ID',
    'SLACK_TEAM_ID',
    'DB_PASSWORD',
    'TOKEN',
  ])('lets connections set %s, whatever the commands are', (name) =>
    expect([isSettable(name, OPEN), isSettable(name, restricted())]).toEqual([true, true]),
  );

  it.each([
    'GIT_EXTERNAL_DIFF',
    'LESSOPEN',
    'SSL_CERT_FILE',
    'HTTPS_PROXY',
    'https_proxy',
    'AWS_ENDPOINT_URL',
    'MANPAGER',
    'NODE_OPTIONS',
    'LD_PRELOAD',
    'PATH',
    'npm_config_registry',
    'NPM_TOKEN',
    'npm_token',
    'API_KEY_FILE',
    'MODE',
  ])("leaves %s to the operator where the commands are the operator's", (name) => {
    expect(isSettable(name, restricted())).toBe(false);
    expect(isSettable(name, restricted('OTHER', `${name}X`, 'X*'))).toBe(false);
    expect(isSettable(name, restricted(name))).toBe(true);
    expect(isSettable(name, restricted(`${name.slice(0, 3)}*`))).toBe(true);
    expect(isSettable(name, restricted('*'))).toBe(true);
  });
});
