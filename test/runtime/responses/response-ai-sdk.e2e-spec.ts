import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, it } from '@jest/globals';
import { generateText, type ModelMessage, streamText } from 'ai';
import { newTenant } from '../../support/tenant.js';
import { useApprovalsApp } from '../approvals/approvals.support.js';
import { checkedFetch, expectPublishedShapes } from './checked-fetch.js';

const own = useApprovalsApp(newTenant);
expectPublishedShapes();

const modelOf = (agentId: string) =>
  createOpenAI({
    baseURL: `${own.app.url}/api/${own.app.org}/v1`,
    apiKey: own.app.apiKey,
    fetch: checkedFetch,
  }).responses(agentId);

describe("the AI SDK's provider for OpenAI", () => {
  it('gets answers with the calls of the run, and goes on with its own messages', async () => {
    const agentId = await own.createAgent('none', { tier: 'thinking' });
    own.model.script(
      { kind: 'tool-calls', calls: [{ name: 'send', arguments: { to: 'Ann' } }] },
      { kind: 'text', deltas: ['All ', 'done.'], usage: { inputTokens: 5, outputTokens: 3 } },
      { kind: 'text', deltas: ['Again.'] },
    );
    const model = modelOf(agentId);
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }];
    const first = await generateText({ model, system: 'Be brief.', messages });
    expect(first.text).toBe('All done.');
    expect(first.finishReason).toBe('stop');
    expect(first.totalUsage.outputTokens).toBeGreaterThan(0);
    expect(JSON.stringify(first.content)).toContain('send done');
    const second = await generateText({
      model,
      system: 'Be brief.',
      messages: [...messages, ...first.response.messages, { role: 'user', content: 'again' }],
    });
    expect(second.text).toBe('Again.');
    expect(JSON.stringify(own.model.requests.at(-1)?.body)).toContain('All done.');
  });

  it('streams answers', async () => {
    const agentId = await own.createAgent('none', { tier: 'thinking' });
    own.model.script({ kind: 'text', deltas: ['One ', 'two ', 'three.'] });
    const result = streamText({ model: modelOf(agentId), prompt: 'go' });
    const deltas: string[] = [];
    for await (const delta of result.textStream) deltas.push(delta);
    expect(deltas.join('')).toBe('One two three.');
    expect(await result.finishReason).toBe('stop');
  });

  it('fails with the message of the run', async () => {
    const agentId = await own.createAgent('none', { tier: 'thinking' });
    own.model.script({ kind: 'status', status: 401 });
    await expect(generateText({ model: modelOf(agentId), prompt: 'go', maxRetries: 0 })).rejects.toThrow(
      /model|provider/i,
    );
    const unknown = generateText({ model: modelOf('nobody'), prompt: 'go', maxRetries: 0 });
    await expect(unknown).rejects.toThrow('There is no agent with this id or slug in the organization.');
  });
});
