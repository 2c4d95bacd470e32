import { describe, expect, it } from '@jest/globals';
import { AppConfig } from '../../core/config/app-config.js';
import type { RunEvents } from '../events/run-events.js';
import type { RunExecution } from '../runs/records/run-execution.js';
import { RunSupervisor } from './run-supervisor.js';
import type { WorkerLock } from './worker-lock.js';

const claim = (runId: string) => ({ runId, attempt: 1, epoch: 'e1' });
/** The storage is not used before the application starts. */
const newSupervisor = () => new RunSupervisor({} as AppConfig, {} as RunExecution, {} as RunEvents, {} as WorkerLock);

describe('RunSupervisor.handOver', () => {
  it('stops the current attempts and waits for their end', async () => {
    const supervisor = newSupervisor();
    const control = supervisor.superviseAttempt(claim('a'));
    const handedOver = supervisor.handOver(60_000);
    expect(control.stopped).toBe('handover');
    supervisor.close(control);
    await handedOver;
    expect(supervisor.isIdle).toBe(true);
  });

  it('stops an attempt whose claim was in progress', async () => {
    const supervisor = newSupervisor();
    await supervisor.handOver(60_000);
    expect(supervisor.superviseAttempt(claim('b')).stopped).toBe('handover');
  });
});
