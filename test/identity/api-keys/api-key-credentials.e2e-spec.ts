import { describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { newTenantOfTwo, type Tenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useApiKeysApp } from './api-keys.support.js';
import { eventually } from '../../support/eventually.js';

/** Another process of the service. */
let other: Tenant;
const apiKeys = useApiKeysApp(async () => {
  const [app, second] = await newTenantOfTwo();
  other = second;
  return app;
});
const { createKey, listTools } = apiKeys;

const challenge = (): string =>
  `Bearer realm="mcp",resource_metadata="${apiKeys.service.url}/api/${apiKeys.service.org}/.well-known/oauth-protected-resource"`;

describe('a credential', () => {
  it('that is missing gets a challenge', async () => {
    const answer = await listTools(undefined);
    expectProblem(answer, 401, 'credential_missing');
    expect(answer.headers['www-authenticate']).toBe(challenge());
  });

  it.each([
    ['another scheme', () => `Basic ${Buffer.from('user:password').toString('base64')}`],
    ['no scheme', () => apiKeys.service.apiKey],
    ['an empty token', () => 'Bearer '],
    ['a malformed key', () => 'Bearer rubbish'],
    [
      'a key with a wrong checksum',
      () => `Bearer ${apiKeys.service.apiKey.slice(0, -1)}${apiKeys.service.apiKey.endsWith('0') ? 1 : 0}`,
    ],
    ['an unknown key', () => `Bearer ${generateApiKey()}`],
    ['two tokens', () => `Bearer ${apiKeys.service.apiKey} ${apiKeys.service.apiKey}`],
  ])('with %s is rejected', async (_what, credential) => {
    const answer = await listTools(credential());
    expectProblem(answer, 401, 'credential_invalid');
    expect(answer.headers['www-authenticate']).toBe(`${challenge()},error="invalid_token"`);
    expect(answer.text).not.toContain(apiKeys.service.apiKey.slice(4, 30));
  });

  it('has a case-insensitive scheme', async () => {
    expect((await listTools(`bEARER ${apiKeys.service.apiKey}`)).status).toBe(200);
  });

  it('that has expired stops working', async () => {
    // On a slow machine, a key can expire before its first use.
    const { key, status } = await eventually(async () => {
      const made = await createKey({ self: ['*'] }, { expiresIn: 1 });
      const answer = await listTools(`Bearer ${made.key}`);
      return answer.status !== 401 && { key: made.key, status: answer.status };
    });
    expect(status).toBe(200);
    await eventually(async () => {
      const answer = await listTools(`Bearer ${key}`);
      expectProblem(answer, 401, 'credential_expired');
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    });
  });

  it('that was deleted stops working immediately in this process, and soon in others', async () => {
    const { id, key } = await createKey({ self: ['*'] });
    expect((await listTools(`Bearer ${key}`, { app: other })).status).toBe(200);
    await apiKeys.service.tool('API_KEY_DELETE', { id });
    expectProblem(await listTools(`Bearer ${key}`), 401, 'credential_invalid');
    await eventually(async () =>
      expectProblem(await listTools(`Bearer ${key}`, { app: other }), 401, 'credential_invalid'),
    );
  });

  it('is valid for its own organization only; unknown, foreign and malformed ones get the same response', async () => {
    const { slug } = await startSecondOrganization(apiKeys.service, 'neighbour');
    const answers = await Promise.all(
      [slug, 'nobody-here', apiKeys.service.org.toUpperCase(), '..', '%00'].map((org) => {
        const path = `/api/${encodeURIComponent(org)}/tools`;
        return supertest(apiKeys.service.url).get(path).set('authorization', `Bearer ${apiKeys.service.apiKey}`);
      }),
    );
    const details = answers.map((answer) => expectProblem(answer, 403, 'organization_mismatch').detail);
    expect(new Set(details).size).toBe(1);
  });

  it('cannot access the keys of another organization', async () => {
    const neighbour = await startSecondOrganization(apiKeys.service, 'neighbour-2');
    const { id } = await createKey({});
    expectProblem(await neighbour.tool('API_KEY_DELETE', { id }), 404, 'not_found');
    expectProblem(await neighbour.tool('API_KEY_UPDATE', { id, name: 'taken' }), 404, 'not_found');
    const listed = await neighbour.tool('API_KEY_LIST', {});
    expect(listed.body.items.map((item: { id: string }) => item.id)).not.toContain(id);
  });
});
