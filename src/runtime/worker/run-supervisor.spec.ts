import { describe, expect, it } from '@jest/globals';
import { AppConfig } from '../../core/config/app-config.js';
import type { RunEvents } from '../events/run-events.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import type { RunExecution } from '../runs/records/run-execution.js';
import { RunSupervisor } from './run-supervisor.js';
import type { WorkerLock } from './worker-liveness.js';

const runOf = (id: string) => ({ id, attempt: 1, epoch: 'e1', startedAt: null, waitedMs: 0 }) as ClaimedRun;
const config = { settings: { runTimeoutMs: 60_000 } } as AppConfig;
/** The storage is not used before the application starts. */
const newSupervisor = () => new RunSupervisor(config, {} as RunExecution, {} as RunEvents, {} as WorkerLock);

describe('RunSupervisor.handOver', () => {
  it('stops the current attempts and waits for their end', async () => {
    const supervisor = newSupervisor();
    const control = supervisor.superviseAttempt(runOf('a'));
    const handedOver = supervisor.handOver(60_000);
    expect(control.stopped).toBe('handover');
    supervisor.close(control);
    await handedOver;
    expect(supervisor.isIdle).toBe(true);
  });

  it('stops an attempt whose claim was in progress', async () => {
    const supervisor = newSupervisor();
    await supervisor.handOver(60_000);
    const control = supervisor.superviseAttempt(runOf('b'));
    expect(control.stopped).toBe('handover');
    supervisor.close(control);
  });
});
