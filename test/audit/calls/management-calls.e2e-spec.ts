import { describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import type { MonitoringLogItem } from '../../../src/audit/calls/monitoring.dto.js';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(newTenant);

/** The records of one request. */
async function recordsOf(requestId: string): Promise<MonitoringLogItem[]> {
  const where = { field: ['request_id'], operator: 'eq', value: requestId };
  return (await service.tool('MONITORING_LOGS_LIST', { where }).expect(200)).body.items;
}

async function limitedKey(...self: string[]): Promise<{ id: string; key: string }> {
  const { body } = await service.tool('API_KEY_CREATE', { name: 'limited', permissions: { self } }).expect(200);
  return body;
}

describe('a call of a management tool over HTTP', () => {
  it('is on record when its answer arrives, with the door api', async () => {
    const { id, key } = await limitedKey('MODEL_TIERS_GET');
    const answer = await service.tool('MODEL_TIERS_GET', {}, key).set('x-request-id', 'allowed').expect(200);
    expect(answer.headers['x-request-id']).toBe('allowed');
    expect(await recordsOf('allowed')).toEqual([
      expect.objectContaining({
        door: 'api',
        tool_name: 'MODEL_TIERS_GET',
        connection_id: null,
        status: 'success',
        error_code: null,
        api_key_id: id,
        user_id: null,
        arguments: null,
        result: null,
      }),
    ]);
  });

  it.each([
    ['denied', 'API_KEY_LIST', {}, 403, 'permission_denied', 'denied'],
    ['invalid', 'MODEL_TIERS_GET', { surplus: 1 }, 400, 'invalid_request', 'error'],
    ['unknown', 'NO_SUCH_TOOL', {}, 404, 'unknown_tool', 'error'],
  ])('is on record when it is %s', async (requestId, name, input, status, code, outcome) => {
    const { key } = await limitedKey('MODEL_TIERS_GET');
    expectProblem(await service.tool(name, input, key).set('x-request-id', requestId), status, code);
    expect(await recordsOf(requestId)).toEqual([
      expect.objectContaining({ door: 'api', tool_name: name, status: outcome, error_code: code }),
    ]);
  });

  it('has its arguments and result on record, without secrets, once the organization wants them', async () => {
    await service.tool('AUDIT_SETTINGS_UPDATE', { content: true }).expect(200);
    const data = { title: 'Provider', kind: 'openai', api_key: 'sk-very-secret' };
    await service.tool('AI_PROVIDER_CREATE', { data }).set('x-request-id', 'content').expect(200);
    const faulty = service.tool('RUN_GET', { id: 'none' }).set('x-request-id', 'faulty');
    expectProblem(await faulty, 400, 'invalid_request');
    await service.tool('AUDIT_SETTINGS_UPDATE', { content: false }).expect(200);
    await service.tool('MODEL_TIERS_GET').set('x-request-id', 'silent').expect(200);
    const [created] = await recordsOf('content');
    expect(created).toMatchObject({
      arguments: { data: { title: 'Provider', api_key: '***' } },
      result: { item: { title: 'Provider' } },
    });
    expect(JSON.stringify(created)).not.toContain('sk-very-secret');
    expect(await recordsOf('faulty')).toMatchObject([
      {
        arguments: { id: 'none' },
        result: { code: 'invalid_request', request_id: 'faulty', errors: [{ path: 'id' }] },
      },
    ]);
    expect(await recordsOf('silent')).toMatchObject([{ arguments: null, result: null }]);
  });

  it('is not on record without a valid credential', async () => {
    const call = supertest(service.url)
      .post(`/api/${service.org}/tools/MODEL_TIERS_GET`)
      .set('x-request-id', 'stranger');
    await call.send({}).expect(401);
    expect(await recordsOf('stranger')).toEqual([]);
  });
});
