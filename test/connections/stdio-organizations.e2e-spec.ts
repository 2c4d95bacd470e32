import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApp, type TestApp } from '../support/app.js';
import { expectProblem } from '../support/problem.js';
import { startSecondOrganization } from '../support/second-organization.js';

const PROGRAM = { title: 'Program', connection_type: 'STDIO', stdio: { command: 'node', args: ['--version'] } };

let service: TestApp;

beforeAll(async () => {
  service = await startTestApp({ env: { STDIO_COMMANDS: 'node', STDIO_ORGANIZATIONS: 'trusted' } });
});
afterAll(() => service?.close());

describe('STDIO_ORGANIZATIONS', () => {
  it('decides which organizations can run programs, whatever the key allows', async () => {
    const trusted = await startSecondOrganization(service, 'trusted');
    const other = await startSecondOrganization(service, 'other');
    const create = 'COLLECTION_CONNECTIONS_CREATE';
    expect((await trusted.tool(create, { data: PROGRAM })).status).toBe(200);
    expectProblem(await other.tool(create, { data: PROGRAM }), 403, 'permission_denied');
    const problem = expectProblem(await service.tool(create, { data: PROGRAM }), 403, 'permission_denied');
    expect(problem.detail).toContain('STDIO_ORGANIZATIONS');
  });
});
