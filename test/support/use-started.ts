import { afterAll, beforeAll } from '@jest/globals';
import { newTenantOfTwo, type Tenant } from './tenant.js';

/**
 * Starts something, such as a tenant, for the spec file or the block that calls this, and closes it after its tests.
 * The object that is returned has nothing until then.
 */
export function useStarted<Started extends { close(): Promise<unknown> }>(start: () => Promise<Started>): Started {
  const started = {} as Started;
  beforeAll(async () => {
    Object.assign(started, await start());
  });
  afterAll(async () => {
    if ('close' in started) await started.close();
  });
  return started;
}

/** An organization as a client of each of two processes of one service has it. See `useStarted`. */
export function useTenantOfTwo(): readonly [Tenant, Tenant] {
  const [one, other] = [{} as Tenant, {} as Tenant];
  beforeAll(async () => {
    const tenants = await newTenantOfTwo();
    Object.assign(one, tenants[0]);
    Object.assign(other, tenants[1]);
  });
  afterAll(async () => {
    if ('close' in one) await one.close();
  });
  return [one, other];
}
