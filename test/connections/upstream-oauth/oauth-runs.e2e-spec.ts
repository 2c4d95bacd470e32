import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ThreadClient } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { agentOf } from '../../support/gateway-agents.js';
import { authorize, connectOauth, keyOf, type Person, signedIn } from './log-in.support.js';
import { type OauthUpstream, startOauthUpstream } from './oauth-upstream.js';

describe('a run that calls an upstream with OAuth', () => {
  let service: Tenant;
  let upstream: OauthUpstream;
  let people: Person[];

  beforeAll(async () => {
    upstream = await startOauthUpstream();
    service = await newTenant();
    people = [await signedIn(service), await signedIn(service)];
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.close();
  });

  /** The parts of the tool call in a run that is posted with this key. */
  async function callIn(agentId: string, apiKey: string): Promise<object[]> {
    const thread = await ThreadClient.create({ ...service, apiKey }, agentId);
    const { taskId, ...collected } = await thread.ask('/call whoami {}');
    const { parts } = await thread.expectWhole(taskId, collected);
    return parts.filter((part) => 'toolCallId' in part);
  }
  const agentWith = (connection_id: string): Promise<string> =>
    agentOf(service, [{ connection_id, selected_tools: ['whoami'] }]);
  const saying = (text: string): object[] => [
    expect.objectContaining({ output: expect.objectContaining({ content: [{ type: 'text', text }] }) }),
  ];
  const failing = (text: string): object[] => [
    expect.objectContaining({ state: 'output-error', errorText: expect.stringContaining(text) }),
  ];

  it('acts for the person who posted it, and needs one', async () => {
    const id = await connectOauth(service, upstream, { account: 'member' });
    const [alice, bob] = people as [Person, Person];
    await authorize(alice, upstream, id, 'alice');
    await authorize(bob, upstream, id, 'bob');
    const agent = await agentWith(id);
    expect(await callIn(agent, await keyOf(service, alice))).toEqual(saying('alice'));
    expect(await callIn(agent, await keyOf(service, bob))).toEqual(saying('bob'));
    expect(await callIn(agent, service.apiKey)).toEqual(failing('does not belong to a person'));
  });

  it('gets the page in the sentence of the failed call while nobody has logged in', async () => {
    const id = await connectOauth(service, upstream);
    const agent = await agentWith(id);
    const page = `${service.url}/connections/${id}/authorize`;
    expect(await callIn(agent, service.apiKey)).toEqual(failing(page));
    await authorize(people[0]!, upstream, id, 'alice');
    expect(await callIn(agent, service.apiKey)).toEqual(saying('alice'));
  });
});
