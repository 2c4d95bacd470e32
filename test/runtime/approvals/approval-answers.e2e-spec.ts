import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Response } from 'supertest';
import type { AuditEventItem } from '../../../src/audit/events/audit-event.dto.js';
import { createThread, succeed, type ThreadClient, unusedId } from '../../support/agent-runs.js';
import { expectProblem } from '../../support/problem.js';
import { keyWith } from '../../support/proxy-connections.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { answer, expire, startWaiting, type StartedRun, useApprovalsApp, validated } from './approvals.support.js';
import { newTenant } from '../../support/tenant.js';

const own = useApprovalsApp(newTenant);
const YES = { approved: true };
const NO = { approved: false };

/** A waiting run, and how its only approval is answered. */
async function ask(): Promise<StartedRun & { id: string; by: (body: object, key?: string) => Promise<Response> }> {
  const waiting = await startWaiting(own.app, own.agentId, '/call send {}');
  const id = waiting.approvals[0]?.id ?? '';
  return { ...waiting, id, by: async (body, key) => answer(own.app, waiting.thread.id, id, body, key) };
}

function expectClosed(response: Response, recorded: object): void {
  expect({ status: response.status, body: response.body as unknown }).toMatchObject({
    status: 409,
    body: { code: 'approval_closed', ...recorded },
  });
}

async function eventsOf(approvalId: string): Promise<AuditEventItem[]> {
  const where = { field: ['target_id'], operator: 'eq', value: approvalId };
  return (await succeed<{ items: AuditEventItem[] }>(own.app, 'AUDIT_EVENTS_LIST', { where })).items;
}

describe('an answer', () => {
  it('can be repeated by the same caller, also after the run; another one cannot', async () => {
    const { by, id, stream } = await ask();
    expect((await by({ approved: true, reason: 'fine' })).status).toBe(202);
    const repeated = await by({ approved: true, reason: 'fine' });
    expect({ status: repeated.status, body: repeated.body }).toEqual({
      status: 202,
      body: { approvalId: id, approved: true },
    });
    expectClosed(await by(NO), { approved: true, reason: 'fine', closed_as: 'answered' });
    await stream.collectUntilDone();
    expect((await by({ approved: true, reason: 'fine' })).status).toBe(202);
    expectClosed(await by(YES), { approved: true, reason: 'fine' });
    expect(own.upstream.calls).toHaveLength(1);
    expect(await eventsOf(id)).toMatchObject([
      {
        event: 'approval.answered',
        target: { type: 'approval', id, name: 'send' },
        changes: { approved: { to: true }, reason: { to: 'fine' } },
      },
    ]);
  });

  it('counts once when two people answer at once', async () => {
    const keys = [await keyWith(own.app, { self: ['RUN_APPROVE'] }), await keyWith(own.app, { self: ['RUN_APPROVE'] })];
    for (const bodies of [
      [YES, NO],
      [YES, YES],
      [NO, YES],
    ]) {
      own.upstream.calls.length = 0;
      const { by, id, stream, thread, taskId } = await ask();
      const answers = await Promise.all(bodies.map((body, n) => by(body, keys[n])));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
      const accepted = answers.findIndex(({ status }) => status === 202);
      expectClosed(answers[1 - accepted] as Response, bodies[accepted] as object);
      const message = await thread.expectWhole(taskId, await stream.collectUntilDone());
      await validated(message);
      expect(own.upstream.calls).toHaveLength(bodies[accepted] === YES ? 1 : 0);
      expect(await eventsOf(id)).toHaveLength(1);
    }
  });

  it('that comes too late finds a denial', async () => {
    const { by, taskId, stream, thread } = await ask();
    await expire(own.app, taskId);
    expectClosed(await by(YES), { approved: false, reason: 'timed out', closed_as: 'timed_out' });
    const { parts } = await thread.expectWhole(taskId, await stream.collectUntilDone());
    expect(parts).toContainEqual(expect.objectContaining({ state: 'output-denied' }));
    expect(own.upstream.calls).toEqual([]);
  });

  it('after the cancellation finds a denial', async () => {
    const { by, taskId, thread, stream } = await ask();
    await thread.cancel(taskId).expect(202);
    expectClosed(await by(YES), { approved: false, reason: 'cancelled', closed_as: 'cancelled' });
    await stream.collectUntilDone();
    expectClosed(await by(YES), { approved: false, reason: 'cancelled' });
    expect(own.upstream.calls).toEqual([]);
  });

  it('needs the approval of this thread in this organization', async () => {
    const { by, id, thread } = await ask();
    const other = await createThread(own.app, own.agentId);
    expectProblem(await answer(own.app, other, id, YES), 404, 'approval_not_found');
    expectProblem(await answer(own.app, thread.id, unusedId(), YES), 404, 'approval_not_found');
    expectProblem(await answer(own.app, thread.id, 'no-id', YES), 404, 'approval_not_found');
    expectProblem(await answer(own.app, unusedId(), id, YES), 404, 'thread_not_found');
    const second = await startSecondOrganization(own.app, `other-${unusedId()}`);
    const path = `agent-runtime/threads/${thread.id}/approvals/${id}`;
    expectProblem(await second.post(path, YES), 404, 'thread_not_found');
    expect((await by(NO)).status).toBe(202);
  });

  it.each([
    [{}],
    [{ approved: 'yes' }],
    [{ approved: true, reason: '' }],
    [{ approved: true, reason: 'x'.repeat(1001) }],
    [{ approved: true, reason: 'a\0b' }],
    [{ approved: true, input: {} }],
    [[]],
  ])('is refused if it is %j', async (body) => {
    const response = await answer(own.app, await createThread(own.app, own.agentId), unusedId(), body);
    expect({ status: response.status, body: response.body as unknown }).toMatchObject({ status: 400 });
  });

  it('is refused with an unknown query parameter', async () => {
    const { id, thread, by } = await ask();
    expect((await answer(own.app, thread.id, `${id}?force=true`, YES)).status).toBe(400);
    expect((await by(NO)).status).toBe(202);
  });
});

describe('answering', () => {
  let waiting: Awaited<ReturnType<typeof ask>>;
  let thread: ThreadClient;
  beforeAll(async () => {
    waiting = await ask();
    ({ thread } = waiting);
  });

  const makeToken = async (permissions: string[], key?: string): Promise<Response> =>
    own.app.tool('THREAD_TOKEN_CREATE', { thread_id: thread.id, permissions }, key);

  it('needs RUN_APPROVE, so that a key that posts cannot approve its own calls', async () => {
    const poster = await keyWith(own.app, { self: ['COLLECTION_THREADS_CREATE', 'RUN_GET'] });
    expectProblem(await waiting.by(YES, poster), 403, 'permission_denied');
  });

  it('needs what posting needs', async () => {
    await own.app.tool('ORGANIZATION_UPDATE', { run_access: 'granted' }).expect(200);
    const approver = await keyWith(own.app, { self: ['RUN_APPROVE'] });
    expectProblem(await waiting.by(YES, approver), 403, 'permission_denied');
    await own.app.tool('ORGANIZATION_UPDATE', { run_access: 'members' }).expect(200);
  });

  it('with a browser token needs its permission approve, which only a holder of RUN_APPROVE can give', async () => {
    const maker = await keyWith(own.app, {
      self: ['THREAD_TOKEN_CREATE', 'COLLECTION_THREADS_GET', 'COLLECTION_THREAD_MESSAGES_LIST'],
    });
    expectProblem(await makeToken(['post', 'approve'], maker), 403, 'permission_widening');
    const poster = (await makeToken(['post', 'read', 'cancel'])).body.token;
    expectProblem(await waiting.by(YES, poster), 403, 'permission_denied');
    const approver = (await makeToken(['approve'])).body.token;
    const other = await ask();
    expectProblem(await other.by(YES, approver), 403, 'permission_denied');
    expect((await waiting.by(YES, approver)).status).toBe(202);
    await waiting.stream.collectUntilDone();
    expect((await other.by(NO)).status).toBe(202);
  });
});
