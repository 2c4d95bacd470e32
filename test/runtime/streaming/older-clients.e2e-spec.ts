import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as ai from 'ai';
import * as ai5 from 'ai-5';
import * as ai6 from 'ai-6';
import { answerApproval, loadMessages } from '../../../examples/next-chat/lib/signalbox-chat.js';
import { answer, createAskingAgent, SCRIPTED, useScriptedModel } from '../approvals/approvals.support.js';
import { connect, createAgent, textOf, ThreadClient, unusedId } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { chatOf, memoryChat, type MemoryChatOptions } from '../../support/memory-chat.js';
import { expectProblem } from '../../support/problem.js';
import { eventually } from '../../support/eventually.js';
import { postgresStreams, type StreamBackend } from '../../support/stream-backends.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { type ServiceProcess, startWorkerProcess } from '../../support/service-process.js';
import { type HeldModel, SEARCH_FIRST, startHeldModel } from './held-model.support.js';

const RUN_LOCK_MS = '2000';
const START_MS = 60_000;

const VERSION_6 = 'text/event-stream;ai=6';
const AI_5 = { sdk: ai5 as unknown as typeof ai, accept: 'text/event-stream;ai=5' };
const READERS: [name: string, reader: Pick<MemoryChatOptions, 'sdk' | 'accept'>][] = [
  ['ai 5', AI_5],
  ['ai 6', { sdk: ai6 as unknown as typeof ai, accept: VERSION_6 }],
  ['ai 7', { sdk: ai }],
  ['ai 7 that states its version', { sdk: ai, accept: 'text/event-stream;ai=7' }],
];

let backend: StreamBackend;
let api: TestApp;
let worker: ServiceProcess;
let tools: ToolServer;
let model: HeldModel;
let agentId: string;
let askingId: string;
/** Of the agent whose model is held. */
let heldId: string;

const startWorker = () => startWorkerProcess({ ...backend.env, RUN_LOCK_MS, UPSTREAM_ALLOW_PRIVATE: 'true' });

beforeAll(async () => {
  [backend, tools, model] = await Promise.all([postgresStreams(), startToolServer('search'), startHeldModel()]);
  api = await backend.start({ ROLE: 'api', RUN_LOCK_MS, STREAM_KEEP_ALIVE_MS: '200', UPSTREAM_ALLOW_PRIVATE: 'true' });
  const connectionId = await connect(api, tools.url);
  agentId = await createAgent(api, [connectionId]);
  askingId = await createAskingAgent(api, connectionId, 'all');
  await useScriptedModel(api, model);
  heldId = await createAgent(api, [connectionId], SCRIPTED);
  worker = await startWorker();
}, START_MS);

afterAll(async () => {
  await worker?.kill('SIGTERM');
  await backend?.close();
  await tools?.close();
  await model?.close();
});

async function begin(reader: Partial<MemoryChatOptions>, agent = agentId) {
  const thread = await ThreadClient.create(api, agent);
  return { thread, chat: memoryChat({ id: thread.id, chat: chatOf(api, agent), ...reader }) };
}

describe.each(READERS)('a chat of %s', (_, reader) => {
  const stored = async (thread: ThreadClient) => (await thread.messages()).at(-1);

  it('shows an answer, and a tool call, as they are stored', async () => {
    const { thread, chat } = await begin(reader);
    await chat.sendMessage({ text: '/words 30\n/call search {}\n/words 30' });
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(chat.calls).toMatchObject([{ state: 'output-available' }]);
    expect(JSON.parse(JSON.stringify(chat.lastMessage?.parts))).toEqual((await stored(thread))?.parts);
  });

  it('resumes a run that is under way, with the stored messages', async () => {
    const { thread } = await begin(reader);
    await thread.ask('earlier');
    const called = Promise.withResolvers<void>();
    tools.answersAfter = called.promise;
    const taskId = await thread.postMessage('/words 20\n/call search {}\n/words 20');
    await thread.waitFor(taskId, 'running');
    const chatHere = chatOf(api, agentId);
    const messages = (await loadMessages(chatHere, thread.id)).slice(0, 3);
    const chat = memoryChat({ id: thread.id, chat: chatHere, messages, ...reader });
    const resuming = chat.resumeStream();
    await eventually(() => expect(chat.calls).toMatchObject([{ state: 'input-available' }]));
    called.resolve();
    await resuming;
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(chat.messages.map(({ id }) => id)).toEqual((await thread.messages()).map(({ id }) => id));
    expect(JSON.parse(JSON.stringify(chat.lastMessage?.parts))).toEqual((await stored(thread))?.parts);
  });
});

describe.each(READERS.filter(([name]) => name !== 'ai 5'))('a chat of %s', (_, reader) => {
  it.each([
    [true, 'itself'],
    [false, 'itself'],
    [true, 'somebody else'],
    [false, 'somebody else'],
  ])('goes on after an approval answered %j by %s', async (approved, who) => {
    const { thread, chat } = await begin(reader, askingId);
    const sending = chat.sendMessage({ text: '/call search {}\n/words 5' });
    await eventually(() => expect(chat.calls[0]?.state).toBe('approval-requested'));
    const id = chat.calls[0]?.approval?.id ?? '';
    if (who === 'itself') {
      await chat.addToolApprovalResponse({ id, approved });
      await answerApproval(chatOf(api, askingId), thread.id, id, { approved });
    } else {
      await answer(api, thread.id, id, { approved }).expect(202);
    }
    await sending;
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(chat.calls).toMatchObject([{ state: approved ? 'output-available' : 'output-denied' }]);
    expect(JSON.stringify(chat.lastMessage?.parts)).toContain('word5');
  });

  it('reads the stored messages of approvals as valid', async () => {
    const { thread, chat } = await begin(reader, askingId);
    const sending = chat.sendMessage({ text: '/call search {}' });
    await eventually(() => expect(chat.calls[0]?.state).toBe('approval-requested'));
    await answer(api, thread.id, chat.calls[0]?.approval?.id ?? '', { approved: false, reason: 'no' }).expect(202);
    await sending;
    const messages = await loadMessages(chatOf(api, askingId), thread.id);
    const validated =
      reader.sdk === ai
        ? await ai.safeValidateUIMessages({ messages })
        : await ai6.safeValidateUIMessages({ messages });
    expect(validated).toMatchObject({ success: true });
  });
});

describe('a chat of ai 5', () => {
  it.each([true, false])('shows a call under way until its approval is answered %j elsewhere', async (approved) => {
    const { thread, chat } = await begin(AI_5, askingId);
    const { pending_approvals } = await thread.waitFor(
      await thread.postMessage('/call search {}\n/words 5'),
      'waiting',
    );
    const reading = chat.resumeStream();
    await eventually(() => expect(chat.calls[0]?.state).toBe('input-available'));
    await answer(api, thread.id, pending_approvals[0]?.id ?? '', { approved }).expect(202);
    await reading;
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(chat.calls).toMatchObject([{ state: approved ? 'output-available' : 'output-error' }]);
    expect(JSON.stringify(chat.lastMessage?.parts)).toContain('word5');
  });
});

describe('when a worker is killed in a step', () => {
  it(
    'every chat shows the whole answer, and older ones also what was interrupted until it loads the transcript',
    async () => {
      const reading = await Promise.all(
        READERS.map(async ([name, reader]) => {
          const { thread, chat } = await begin(reader, heldId);
          const sending = chat.sendMessage({ text: `${SEARCH_FIRST} ${unusedId()}` });
          await eventually(() => expect(textsOf(chat.lastMessage)).toHaveLength(2));
          return { name, reader, thread, chat, sending, before: textsOf(chat.lastMessage) };
        }),
      );
      await worker.kill('SIGKILL');
      worker = await startWorker();
      for (const { name, reader, thread, chat, sending } of reading) {
        await sending;
        expect({ name, status: chat.status, error: chat.error }).toEqual({ name, status: 'ready', error: undefined });
        const whole = (await thread.messages()).at(-1);
        const [first, second] = textsOf(whole);
        if (name === 'ai 5' || name === 'ai 6') {
          expect(textsOf(chat.lastMessage)).toEqual([first, expect.any(String), second]);
          expect(chat.lastMessage?.parts.every((part) => !('state' in part) || part.state !== 'streaming')).toBe(true);
        } else {
          expect(JSON.parse(JSON.stringify(chat.lastMessage?.parts))).toEqual(whole?.parts);
        }
        const messages = await loadMessages(chatOf(api, heldId), thread.id);
        const again = memoryChat({ id: thread.id, chat: chatOf(api, heldId), messages, ...reader });
        await again.resumeStream();
        expect(again).toMatchObject({ status: 'ready', error: undefined });
        expect(textsOf(again.lastMessage)).toEqual([first, second]);
      }
    },
    START_MS,
  );
});

describe('a reader that states version 6', () => {
  const ask = async (options: { lastEventId?: string; taskId?: string } = {}, on: ThreadClient) => {
    const { taskId, lastEventId } = options;
    return fetch(`${api.url}/api/default/agent-runtime/threads/${on.id}/stream?taskId=${taskId}`, {
      headers: {
        accept: VERSION_6,
        authorization: `Bearer ${api.apiKey}`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
    });
  };

  it('resumes after any frame, also next to one that it does not get', async () => {
    const thread = await ThreadClient.create(api, askingId);
    const stream = await thread.stream();
    const taskId = await thread.postMessage('/call search {}\n/words 5');
    const { pending_approvals } = await thread.waitFor(taskId, 'waiting');
    await answer(api, thread.id, pending_approvals[0]?.id ?? '', { approved: true }).expect(202);
    const whole = await stream.collectUntilDone();
    expect(whole.chunks.some(({ type }) => type === 'tool-approval-response')).toBe(true);
    const expected = whole.ids
      .map((id, i) => `${id} ${whole.chunks[i]?.type}`)
      .filter((frame) => !frame.endsWith(' tool-approval-response'));
    for (const lastEventId of [undefined, ...whole.ids]) {
      const text = await (await ask({ taskId, ...(lastEventId === undefined ? {} : { lastEventId }) }, thread)).text();
      const frames = [...text.matchAll(/^id: (\S+)\ndata: \{"type":"([\w-]+)"/gm)].map(
        ([, id, type]) => `${id} ${type}`,
      );
      const begin = lastEventId === undefined ? 0 : whole.ids.indexOf(lastEventId) + 1;
      const rest = whole.ids.slice(begin);
      expect(frames).toEqual(expected.filter((frame) => rest.includes(frame.split(' ', 1)[0] ?? '')));
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    }
    expect(textOf(whole.chunks)).toContain('word5');
  });

  it.each(['4', 'six'])('is refused with a problem document for version %s', async (version) => {
    const thread = await ThreadClient.create(api, agentId);
    const headers = { accept: `text/event-stream;ai=${version}` };
    const refused = await thread.post(thread.request('hello'), { headers });
    expectProblem(refused, 400, 'invalid_request');
    const stream = await fetch(`${api.url}/api/default/agent-runtime/threads/${thread.id}/stream`, {
      headers: { ...headers, authorization: `Bearer ${api.apiKey}` },
    });
    expect(stream.status).toBe(400);
    expect(await stream.json()).toMatchObject({ code: 'invalid_request' });
    expect(await thread.messages()).toEqual([]);
  });
});

/** The texts of a message, one for each part. */
function textsOf(message: { parts: object[] } | undefined): string[] {
  const parts = (message?.parts ?? []) as ai.UIMessage['parts'];
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}
