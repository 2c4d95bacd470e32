import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type HostileTarget, startHostileTarget } from './harness.js';

const CREATIONS = 80;

/** An organization's creations run one after the other, since each counts those before it. */
describe('creations', () => {
  let target: HostileTarget;
  beforeAll(async () => {
    target = await startHostileTarget();
  }, 60_000);
  afterAll(() => target?.close());

  it('that wait for each other keep no other organization waiting', async () => {
    const data = { title: 'Agent', instructions: 'é'.repeat(100_000) };
    await target.withstands(async () => {
      const created = Array.from({ length: CREATIONS }, () => target.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data }));
      const statuses = (await Promise.all(created)).map(({ status }) => status);
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
    });
  }, 120_000);
});
