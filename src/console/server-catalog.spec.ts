import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isForbiddenVariable, isSettable } from '../connections/environment-faults.js';

const FOLDER = new URL('../../web/src/views/connections/catalog/', import.meta.url);
const read = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Record<string, unknown>;

interface Server {
  readonly id: string;
  readonly url?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly needs: string;
}

describe('the catalog of well-known servers', () => {
  const catalog = read('servers.json');
  const servers = catalog['servers'] as readonly Server[];

  it('follows its schema', () => {
    const ajv = new Ajv2020({ allErrors: true });
    const validate = ajv.compile(read('servers.schema.json'));
    validate(catalog);
    expect(validate.errors).toBeNull();
  });

  it('names each server once', () => {
    const places = servers.map(({ url, args }) => url ?? args?.join(' '));
    expect(new Set(servers.map(({ id }) => id)).size).toBe(servers.length);
    expect(new Set(places).size).toBe(servers.length);
  });

  it('says which programs need variables that the operator has to allow', () => {
    const rule = { isRestricted: true, allowed: [] };
    const names = servers.flatMap(({ id, env = [], needs }) => env.map(({ name }) => ({ id, name, needs })));
    const closed = names.filter(({ name }) => !isSettable(name, rule));
    expect(closed.filter(({ needs }) => !needs.includes('STDIO_ENV_ALLOW'))).toEqual([]);
    expect(names.filter(({ name }) => isForbiddenVariable(name))).toEqual([]);
  });
});
