import { beforeEach, describe, expect, it } from '@jest/globals';
import { newId } from '../core/ids.js';
import { ConnectionChanges } from './connection-changes.js';
import { ConnectionDirectory } from './connection-directory.js';
import type { ConnectionRepository, ConnectionWithOrganization } from './connection.repository.js';

const KNOWN = newId();
const ROW = {
  connection: { id: KNOWN, organizationId: newId() },
  organization: { slug: 'default', auditContent: false },
} as ConnectionWithOrganization;
const MORE_THAN_THE_CACHE_HOLDS = 12_000;

let queries: (readonly string[])[];
let directory: ConnectionDirectory;

beforeEach(() => {
  queries = [];
  const repository = {
    findAllWithOrganization: async (ids: readonly string[]) => {
      queries.push(ids);
      await new Promise(setImmediate);
      return ids.includes(KNOWN) ? [ROW] : [];
    },
  };
  directory = new ConnectionDirectory(repository as unknown as ConnectionRepository, new ConnectionChanges());
});

describe('ConnectionDirectory', () => {
  it('reads thousands of unknown ids in few queries, and finds a known one among them', async () => {
    const guesses = Array.from({ length: 5_000 }, () => directory.findAnywhere(newId()));
    const found = directory.findAnywhere(KNOWN);
    expect((await Promise.all(guesses)).every((connection) => connection === undefined)).toBe(true);
    expect((await found)?.id).toBe(KNOWN);
    expect(queries.length).toBeLessThan(15);
  });

  it('still knows a connection after more unknown ids than it remembers', async () => {
    await directory.findAnywhere(KNOWN);
    for (let asked = 0; asked < MORE_THAN_THE_CACHE_HOLDS; asked += 500) {
      await Promise.all(Array.from({ length: 500 }, () => directory.findAnywhere(newId())));
    }
    queries = [];
    expect((await directory.findAnywhere(KNOWN))?.id).toBe(KNOWN);
    expect(queries).toEqual([]);
  });

  it('ignores the case of ids, and finds no connection for other text', async () => {
    expect((await directory.findAnywhere(KNOWN.toUpperCase()))?.id).toBe(KNOWN);
    expect(directory.findAnywhere('self')).toBeUndefined();
  });
});
