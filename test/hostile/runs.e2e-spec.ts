import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { type FakeOpenAI, startFakeOpenAI } from '../support/fake-openai.js';
import { type HostileTarget, startHostileTarget } from './harness.js';
import { eventually } from '../support/eventually.js';

const SLOW_RUNS = 60;
const THREADS = 40;
const RUNS_EACH = 50;

let fake: FakeOpenAI;

beforeAll(async () => {
  fake = await startFakeOpenAI();
});
afterAll(() => fake?.close());

/** The organization `default` of a target, as somebody who means no good. */
class Attacker {
  private constructor(
    private readonly target: HostileTarget,
    private readonly agentId: string,
  ) {}

  static async start(target: HostileTarget): Promise<Attacker> {
    const agent = await target.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'A', connections: [] } });
    const data = { title: 'Fake', kind: 'openai-compatible', base_url: fake.baseUrl };
    const provider = await target.tool('AI_PROVIDER_CREATE', { data });
    const thinking = { provider_id: provider.body.item.id, model: 'fake' };
    await target.tool('MODEL_TIERS_SET', { data: { thinking } });
    return new Attacker(target, agent.body.item.id);
  }

  async thread(): Promise<string> {
    const data = { title: 'T', virtual_mcp_id: this.agentId };
    return (await this.target.tool('COLLECTION_THREADS_CREATE', { data })).body.item.id;
  }

  async post(threadId: string, text: string, tier = 'smart'): Promise<number> {
    const body = { messages: [{ role: 'user', parts: [{ type: 'text', text }] }], agent: { id: this.agentId }, tier };
    return (await this.send(threadId, 'messages', body)).status;
  }

  cancel(threadId: string): Promise<supertest.Response> {
    return this.send(threadId, 'cancel', {});
  }

  waitUntilIdle(threadId: string): Promise<string> {
    return eventually(async () => {
      const { status } = (await this.target.tool('COLLECTION_THREADS_GET', { id: threadId })).body.item;
      expect(status).not.toBe('in_progress');
      return status as string;
    });
  }

  private async send(threadId: string, what: string, body: object): Promise<supertest.Response> {
    return supertest(this.target.url)
      .post(`/api/default/agent-runtime/threads/${threadId}/${what}`)
      .set('authorization', `Bearer ${this.target.apiKey}`)
      .send(body);
  }
}

/** Thousands of calls of one step are parsed in one go, which others wait for: a second on a busy machine. */
const MANY_CALLS = { factor: 150 };

describe.each([
  ['PostgreSQL', false],
  ['Redis', true],
])('runs of one key, with the queue on %s', (_, redis) => {
  let target: HostileTarget;
  let attacker: Attacker;

  beforeAll(async () => {
    target = await startHostileTarget({ redis });
    attacker = await Attacker.start(target);
  }, 60_000);
  afterAll(() => target?.close());

  it('more slow ones than there are slots leave room for the neighbour', async () => {
    await target.withstands(async () => {
      const threads = await Promise.all(Array.from({ length: SLOW_RUNS }, () => attacker.thread()));
      for (const thread of threads) expect(await attacker.post(thread, '/wait 600000')).toBe(202);
      await sleep(5000);
      await Promise.all(threads.map((thread) => attacker.cancel(thread)));
    });
  }, 120_000);

  it('thousands that wait do not stand before the neighbour', async () => {
    await target.withstands(async () => {
      const threads = await Promise.all(Array.from({ length: THREADS }, () => attacker.thread()));
      for (let n = 0; n < RUNS_EACH; n++)
        await Promise.all(threads.map((thread) => attacker.post(thread, '/wait 30000')));
      await sleep(3000);
      await Promise.all(threads.map((thread) => attacker.cancel(thread)));
    });
  }, 240_000);

  it('that are nested too deeply, or make thousands of tool calls, end', async () => {
    await target.withstands(async () => {
      for (let round = 0; round < 2; round++) {
        const [deep, many] = [await attacker.thread(), await attacker.thread()];
        await attacker.post(deep, `/call echo {"a":${'['.repeat(6000)}${']'.repeat(6000)}}`);
        const calls = Array.from({ length: 3000 }, (_, n) => ({ name: 'echo', arguments: { n }, id: `call_${n}` }));
        fake.script({ kind: 'tool-calls', calls });
        await attacker.post(many, 'Go', 'thinking');
        expect(await attacker.waitUntilIdle(deep)).toBe('completed');
        expect(await attacker.waitUntilIdle(many)).toBe('completed');
      }
    }, MANY_CALLS);
  }, 240_000);
});
