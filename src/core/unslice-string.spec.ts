import { describe, expect, it } from '@jest/globals';
import { keptBytes } from '../../test/support/kept-bytes.js';
import { unsliceString } from './ttl-cache.js';
import { newId } from './ids.js';
import { TtlCache } from './ttl-cache.js';

const WHOLE_BYTES = 64 * 1024;
const COUNT = 500;

/** As the router has it: a part of a path. */
function idInPath(): string {
  const path = Buffer.from(`${newId()}?${'a'.repeat(WHOLE_BYTES)}`).toString('latin1');
  return path.slice(0, 36);
}

function bytesKeptBy(keep: (id: string) => unknown): Promise<number> {
  return keptBytes(async () => {
    for (let i = 0; i < COUNT; i++) await keep(idInPath());
  });
}

describe('detached', () => {
  it.each(['', 'a', 'ä€', '\ud800', newId()])('is the same text: %j', (text) => expect(unsliceString(text)).toBe(text));

  it('lets a cache of look-ups by id forget the path that the id came in', async () => {
    const cache = new TtlCache<undefined>({ ttlMs: 60_000, maxEntries: 10_000 });
    expect(await bytesKeptBy((id) => cache.get(id, async () => undefined))).toBeLessThan((COUNT * WHOLE_BYTES) / 4);
  });
});
