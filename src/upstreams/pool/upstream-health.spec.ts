import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Connection } from '../../connections/connection.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import type { ConnectionRepository } from '../../connections/connection.repository.js';
import type { ConnectionTester } from './connection-tester.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { UpstreamHealth } from './upstream-health.js';

const MAX_CIRCUITS = 10_000;
const FAILURES_TO_OPEN = 5;

describe('UpstreamHealth', () => {
  let health: UpstreamHealth;

  beforeEach(() => {
    const repository = { saveHealth: async () => undefined } as unknown as ConnectionRepository;
    // No probe is due before a test ends.
    health = new UpstreamHealth(new ConnectionDirectory(repository, new ConnectionChanges()), {} as ConnectionTester);
  });
  afterEach(() => {
    health.onApplicationShutdown();
  });

  const call = (id: string, work: () => Promise<string>): Promise<unknown> =>
    health.watchCall({ id, revision: 1, status: 'active' } as Connection, work).catch((error: Error) => error);

  const works = (id: string): Promise<unknown> => call(id, async () => 'answer');

  const failTimes = async (id: string, times: number): Promise<void> => {
    const error = new UpstreamError('unreachable', 'refused the connection');
    for (let time = 0; time < times; time++) await call(id, () => Promise.reject(error));
  };

  it('refuses calls after repeated failures, until a probe succeeds', async () => {
    await failTimes('a', FAILURES_TO_OPEN - 1);
    expect(await works('a')).toBe('answer');
    await failTimes('a', FAILURES_TO_OPEN);
    expect(await works('a')).toMatchObject({ code: 'connection_unavailable' });
    expect(await works('b')).toBe('answer');
  });

  it('forgets only the breaker that was used longest ago when there are too many', async () => {
    await failTimes('unused', FAILURES_TO_OPEN);
    await failTimes('in use', FAILURES_TO_OPEN);
    for (let i = 2; i < MAX_CIRCUITS; i++) await failTimes(`failing ${i}`, 1);
    expect(await works('in use')).toMatchObject({ code: 'connection_unavailable' });

    await failTimes('one too many', 1);
    expect(await works('in use')).toMatchObject({ code: 'connection_unavailable' });
    await failTimes('failing 2', FAILURES_TO_OPEN - 1);
    expect(await works('failing 2')).toMatchObject({ code: 'connection_unavailable' });
    expect(await works('unused')).toBe('answer');
  });
});
