import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { type HostileTarget, startHostileTarget } from './harness.js';

/** The harness itself: an attack that is none is withstood. */
describe('ordinary load', () => {
  let target: HostileTarget;

  beforeAll(async () => {
    target = await startHostileTarget();
  }, 60_000);

  afterAll(() => target.close());

  it('is nothing that the neighbour notices', async () => {
    await target.withstands(async () => {
      for (let i = 0; i < 200; i += 1) await target.tool('COLLECTION_CONNECTIONS_LIST');
    });
  });
});
