import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { succeed } from '../../support/agent-runs.js';
import { expectProblem } from '../../support/problem.js';
import { keyWith } from '../../support/proxy-connections.js';
import { HEARD_MS, REDACTED_ARGS, useAuditedApp } from './audit-content.support.js';

const setUp = useAuditedApp();
const { entryPoints } = setUp;

describe('the setting', () => {
  it('is returned as set and takes effect within a second, on and off', async () => {
    for (const content of [true, false, true, false]) {
      expect(await succeed(setUp.app, 'AUDIT_SETTINGS_UPDATE', { content })).toEqual({ content });
      expect(await succeed(setUp.app, 'AUDIT_SETTINGS_GET', {})).toEqual({ content });
      await sleep(HEARD_MS);
      const expected = content ? { arguments: REDACTED_ARGS } : { arguments: null, result: null };
      for (const call of [entryPoints['the proxy'], entryPoints['a run']])
        expect(await call?.()).toMatchObject(expected);
    }
  });

  it('is on record as an event when it changes, with who changed it', async () => {
    const changesOf = async (): Promise<unknown[]> => {
      const where = { field: ['event'], operator: 'eq', value: 'organization.updated' };
      const { items } = (await setUp.app.tool('AUDIT_EVENTS_LIST', { where }).expect(200)).body;
      return (items as { changes: unknown; key_name: string | null }[]).map(({ changes, key_name }) => ({
        changes,
        isNamed: key_name !== null,
      }));
    };
    const before = await changesOf();
    await succeed(setUp.app, 'AUDIT_SETTINGS_UPDATE', { content: false });
    expect(await changesOf()).toEqual(before);
    for (const content of [true, true, false]) await succeed(setUp.app, 'AUDIT_SETTINGS_UPDATE', { content });
    const eventTo = (to: boolean) => ({ changes: { audit_content: { from: !to, to } }, isNamed: true });
    expect(await changesOf()).toEqual([eventTo(false), eventTo(true), ...before]);
  });

  it.each([[{}], [{ content: 'true' }], [{ content: null }], [{ content: 1 }], [{ content: true, more: 1 }]])(
    'refuses %j',
    async (input) => {
      const problem = expectProblem(await setUp.app.tool('AUDIT_SETTINGS_UPDATE', input), 400, 'invalid_request');
      expect(problem.errors).toHaveLength(1);
      expect(await succeed(setUp.app, 'AUDIT_SETTINGS_GET', {})).toEqual({ content: false });
    },
  );

  it.each(['AUDIT_SETTINGS_GET', 'AUDIT_SETTINGS_UPDATE'])('%s requires its permission', async (name) => {
    const self = ['AUDIT_SETTINGS_GET', 'AUDIT_SETTINGS_UPDATE', 'MONITORING_LOGS_LIST'].filter(
      (tool) => tool !== name,
    );
    const key = await keyWith(setUp.app, { self });
    expectProblem(await setUp.app.tool(name, { content: true }, key), 403, 'permission_denied');
    expect(await succeed(setUp.app, 'AUDIT_SETTINGS_GET', {})).toEqual({ content: false });
  });

  it('cannot be used in a filter, nor can arguments and results', async () => {
    for (const field of ['arguments', 'result']) {
      const where = { field: [field], operator: 'eq', value: 'x' };
      expectProblem(await setUp.app.tool('MONITORING_LOGS_LIST', { where }), 400, 'invalid_request');
    }
  });
});
