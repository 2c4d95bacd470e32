import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';

const FOLDER = new URL('../../web/src/views/connections/catalog/', import.meta.url);
const read = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Record<string, unknown>;

interface Server {
  readonly id: string;
  readonly url?: string;
  readonly args?: readonly string[];
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
});
