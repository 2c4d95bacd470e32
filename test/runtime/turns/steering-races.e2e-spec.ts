import { beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../../src/core/ids.js';
import { createAgent, LONG, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { steer, useSteeringApp } from './steering.support.js';
import { useTenantOfTwo } from '../../support/use-started.js';

const RUNS = 40;

describe('between two processes', () => {
  const [here, there] = useTenantOfTwo();
  let agentId: string;
  beforeAll(async () => {
    agentId = await createAgent(here);
  });

  /** Posts here and steers there, at a moment that differs by the run. Returns where each message ended up. */
  async function race(posted: string, meanwhile?: (thread: ThreadClient) => PromiseLike<unknown>): Promise<string[]> {
    return Promise.all(
      Array.from({ length: RUNS }, async (_, run) => {
        const thread = await ThreadClient.create(here, agentId);
        const taskId = await thread.postMessage(posted);
        await sleep(run * 15);
        const messageId = unusedId();
        const remote = new ThreadClient(there, agentId, thread.id);
        const [answered] = await Promise.all([steer(remote, 'mine', { messageId }), meanwhile?.(thread)]);
        const first = await thread.waitFor(taskId, 'completed', 'cancelled');
        const steered = (await thread.messages()).filter(({ id }) => id === messageId);
        expect(steered).toHaveLength(1);
        const taker = steered[0]?.metadata['taskId'] as string;
        const shown = JSON.stringify((await thread.messages()).map(({ parts }) => parts)).includes('"data-steer"');
        if (taker === taskId) {
          expect(answered).toEqual({ taskId, steered: true });
          expect(steered[0]?.metadata).toEqual({ taskId, steerId: expect.any(String) });
          if (first.status === 'completed') expect(shown).toBe(true);
          return `taken, ${first.status}`;
        }
        expect(steered[0]?.metadata).toEqual({ taskId: taker });
        expect(shown).toBe(false);
        if (!answered.steered) expect(answered.taskId).toBe(taker);
        await thread.waitFor(taker, 'completed');
        expect(JSON.stringify((await thread.answer(taker)).parts)).toContain('said: mine');
        return 'own';
      }),
    );
  }

  it('each message is taken by its run, or is a run of its own, when the run ends meanwhile', async () => {
    const outcomes = await race('/words 3\n/wait 500');
    expect(outcomes).toContain('taken, completed');
  });

  it('each message is taken by its run, or is a run of its own, when the run is cancelled meanwhile', async () => {
    const outcomes = await race(`/words 3\n${LONG}`, (thread) => thread.cancel());
    expect(outcomes).toContain('own');
  });
});

describe('without a notice', () => {
  const own = useSteeringApp(newTenant);

  it('a run finds a message when it stores its answer', async () => {
    const { thread, taskId } = await own.startHeld();
    const message = { id: 'silent', role: 'user', parts: [{ type: 'text', text: 'silent' }] };
    const [stored] = await own.app.query<{ outcome: string }>(
      `SELECT _outcome AS outcome FROM runs, run_steer(_organization => organization_id, _thread => thread_id,
          _agent => agent_id, _user => user_id, _api_key => api_key_id, _grant => NULL, _request => request_id,
          _default_tier => tier, _messages => $2, _interrupts => false, _key => NULL, _hash => NULL, _key_hours => 24,
          _max_waiting => 100, _max_bytes => 1000000, _traceparent => NULL, _tracestate => NULL, _steer => $3) WHERE id = $1`,
      [taskId, JSON.stringify([message]), newId()],
    );
    expect(stored).toEqual({ outcome: 'steered' });
    own.release();
    await thread.waitFor(taskId, 'completed');
    expect(own.asked().at(-1)).toBe('user: silent');
  });
});
