import { describe, expect, it } from '@jest/globals';
import { environmentFaults, isForbiddenVariable } from './environment-faults.js';

describe('environmentFaults', () => {
  it('has nothing against ordinary variables', () => {
    const env = { API_TOKEN: 'x', _private: '', lower: 'ü', PRIVATE_KEY: '-----BEGIN\nabc\n', NODE_ENV: 'production' };
    expect(environmentFaults(env)).toEqual([]);
  });

  it.each(['PATH', 'path', 'HOME', 'NODE_OPTIONS', 'node_options', 'LD_AUDIT', 'DYLD_INSERT_LIBRARIES', 'BASH_ENV'])(
    'refuses %s',
    (name) => expect(environmentFaults({ [name]: 'x' })).toMatchObject([{ name }]),
  );

  it.each(['npm_config_registry', 'NPM_CONFIG_SCRIPT_SHELL', 'UV_INDEX_URL', 'PYTHONPATH', 'XDG_CONFIG_HOME'])(
    'knows that %s decides which code runs',
    (name) => expect(isForbiddenVariable(name)).toBe(true),
  );

  it.each(['', '1A', 'A-B', 'A=B', 'A B', 'Ä', 'BASH_FUNC_x%%', 'A\n', 'a'.repeat(129)])(
    'refuses the name %j',
    (name) => {
      expect(environmentFaults({ [name]: 'x' })).toMatchObject([{ name }]);
    },
  );

  it('bounds the number and the size of all together, and quotes no value', () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`A${n}`, '']));
    expect(environmentFaults(many)).toEqual([{ name: null, message: 'At most 64 variables can be stored.' }]);
    const large = Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`A${n}`, 'secret'.repeat(2_500)]));
    const faults = environmentFaults(large);
    expect(faults).toMatchObject([{ name: null }]);
    expect(JSON.stringify(faults)).not.toContain('secret');
  });
});
