import { describe, expect, it } from '@jest/globals';
import { changeOrganization, inTurn, lockOrganization } from '../../../src/platform/database/organization-locks.js';
import { newId } from '../../../src/core/ids.js';
import { startDataSource } from '../../support/data-source.js';
import { eventually } from '../../support/eventually.js';
import { waitingForLocks } from '../../support/locks.js';
import { useStarted } from '../../support/use-started.js';

const CHANGES = 40;

const own = useStarted(startDataSource);

async function newOrganization(): Promise<string> {
  const id = newId();
  await own.dataSource.query('INSERT INTO organizations (id, slug, name) VALUES ($1, $2, $2)', [id, `o-${id}`]);
  return id;
}

describe('changes of an organization that wait for its lock', () => {
  it('leave connections of the pool to others, and are all made', async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const lock = own.dataSource.createQueryRunner();
    await lock.startTransaction();
    await lockOrganization(lock.manager, organization);
    const changes = Array.from({ length: CHANGES }, (_, n) =>
      changeOrganization(own.dataSource.manager, organization, async (manager) => {
        await lockOrganization(manager, organization);
        return n;
      }),
    );
    await eventually(async () => expect(await waitingForLocks(own.dataSource)).toBeGreaterThan(0));
    expect(await waitingForLocks(own.dataSource)).toBeLessThanOrEqual(2);
    expect(await changeOrganization(own.dataSource.manager, other, () => Promise.resolve('made'))).toBe('made');
    await lock.commitTransaction();
    await lock.release();
    expect(await Promise.all(changes)).toEqual(changes.map((_, n) => n));
  });

  it('do not keep what waits for another row of the organization', async () => {
    const organization = await newOrganization();
    const held = Promise.withResolvers<void>();
    const waiting = Array.from({ length: CHANGES }, () =>
      changeOrganization(own.dataSource.manager, organization, () => held.promise),
    );
    expect(
      await inTurn(own.dataSource, [organization, 'thread'], () => own.dataSource.query('SELECT 1 AS one')),
    ).toEqual([{ one: 1 }]);
    held.resolve();
    await Promise.all(waiting);
  });
});
