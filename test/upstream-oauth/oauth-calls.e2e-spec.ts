import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import {
  callProxy,
  pathOf,
  type ProxyAnswer,
  type RpcError,
  errorIn,
  rpcOf,
  toolCall,
} from '../support/proxy-calls.js';
import { authorize, connectOauth, type Person, signedIn } from './log-in.support.js';
import { type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';

describe('calls to an upstream that demands OAuth', () => {
  let service: TestApp;
  let upstream: OauthUpstream;
  let owner: Person;

  beforeAll(async () => {
    upstream = await startOauthUpstream();
    service = await startTestApp();
    owner = await signedIn(service);
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.close();
  });

  const call = (id: string, app = service): Promise<ProxyAnswer> =>
    callProxy(app, pathOf(id), { key: service.apiKey, body: toolCall('whoami') });
  const textOf = (answer: ProxyAnswer): string | undefined => rpcOf(answer).result?.content?.[0]?.text;
  const itemOf = async (id: string): Promise<Record<string, unknown>> =>
    (await succeed<{ item: Record<string, unknown> }>(service, 'COLLECTION_CONNECTIONS_GET', { id })).item;
  const pageOf = (id: string): string => `${service.url}/connections/${id}/authorize`;
  /** What a caller gets while nobody has logged in. */
  const required = (id: string): Partial<RpcError> => ({
    code: -32000,
    message: expect.stringContaining(pageOf(id)) as never,
    data: expect.objectContaining({
      code: 'upstream_authorization_required',
      authorization_url: pageOf(id),
    }) as never,
  });

  it('are refused with the page until a person has logged in, and then use the token', async () => {
    const id = await connectOauth(service, upstream);
    process.stderr.write('A\n'); const refused = await call(id); process.stderr.write('B '+refused.text+'\n');
    expect(refused.status).toBe(403);
    expect(errorIn(refused)).toMatchObject(required(id));
    expect(await itemOf(id)).toMatchObject({
      status: 'active',
      status_reason: expect.stringContaining(pageOf(id)),
      auth: { type: 'oauth', account: 'connection', scope: null, client_id: null, client_secret: null },
    });

    process.stderr.write('C\n'); const page = await authorize(owner, upstream, id); process.stderr.write('D\n');
    expect({ status: page.status, text: page.text }).toMatchObject({
      status: 200,
      text: expect.stringContaining('You can close this window'),
    });
    const answer = await call(id);
    expect(textOf(answer)).toBe('alice');
    expect(await itemOf(id)).toMatchObject({ status: 'active', status_reason: null });
    expect(upstream.authorizations.join()).not.toContain(service.apiKey);
  });
});
