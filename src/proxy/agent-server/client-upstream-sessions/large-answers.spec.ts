import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Connection } from '../../../connections/connection.js';
import { AnswerBudget } from '../../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import type { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import type { OutgoingMessage, UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import type { UpstreamHealth } from '../../../upstreams/pool/upstream-health.js';
import type { AgentPromptsAndResources } from '../offering/agent-prompts-and-resources.js';
import type { ClientUpstreamSession, SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessionOpener } from './client-upstream-session-opener.js';
import type { ClientUpstreamSessions } from './client-upstream-sessions.js';
import type { SessionComposition } from './session-composition.js';
import { SessionResources } from './session-resources.js';

const SIZE = 200_000;
const MEMORY = 64 * 1024 * 1024;
const CONNECTION = { id: 'c', organizationId: 'acme', revision: '1' } as unknown as Connection;
const SESSION = { connection: CONNECTION, session: { key: 'k' } } as unknown as ClientUpstreamSession;
const OWNER = { principal: { organization: { id: 'acme' }, callerId: 'key' } } as unknown as SessionOwner;

let budget: AnswerBudget;
let rooms: AnswerRooms;
/** What is held while the last part of an answer is read. */
let held: number;

/** Answers with a large result, in two parts. */
const channels = {
  session: async () => ({
    postMessage: async ({ id }: OutgoingMessage): Promise<UpstreamAnswer> => {
      const result = { protocolVersion: '2025-11-25', contents: [{ uri: 'own:', text: 'x'.repeat(SIZE) }] };
      const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(id ?? '0') as unknown, result }));
      async function* parts(): AsyncGenerator<Buffer> {
        yield bytes.subarray(0, SIZE / 2);
        await sleep(20);
        held = budget.heldBytes;
        yield bytes.subarray(SIZE / 2);
      }
      const body = Readable.from(parts(), { objectMode: false, highWaterMark: 1 });
      return { status: 200, contentType: 'application/json', sessionId: 's', headers: {}, body };
    },
  }),
} as unknown as UpstreamChannels;

beforeEach(() => {
  budget = new AnswerBudget(MEMORY);
  rooms = new AnswerRooms(budget);
  held = 0;
});

describe('a resource that is read in the session of a caller', () => {
  function resources(): SessionResources {
    return new SessionResources(
      {} as ClientUpstreamSessions,
      {} as SessionComposition,
      {} as AgentPromptsAndResources,
      channels,
      rooms,
    );
  }

  it('has room if it is large', async () => {
    const room = rooms.open(OWNER.principal);
    const read = await resources().read(SESSION, 'own:', room);
    expect(read).toMatchObject({ contents: [{ uri: 'own:' }] });
    expect(held).toBeGreaterThan(SIZE);
    room.leave();
    expect(budget.heldBytes).toBe(0);
  });

  it('is refused if there is no room', async () => {
    const left = new AbortController();
    const full = budget.openAnswer({ organization: { id: 'acme' }, callerId: 'key' });
    full.reserve(MEMORY);
    // As many as can wait.
    const waiting = Array.from({ length: 64 }, () =>
      budget.openAnswer(OWNER.principal, left.signal).reserveInTurn(MEMORY),
    );
    waiting.forEach((answer) => answer.catch(() => undefined));
    const reading = resources().read(SESSION, 'own:', rooms.open(OWNER.principal));
    await expect(reading).rejects.toMatchObject({ code: 'answer_memory_exhausted' });
    left.abort();
    await Promise.allSettled(waiting);
  });
});

it('the answer that opens a session in the name of a caller has room if it is large, until it is read', async () => {
  const health = { watchCall: (_connection: Connection, work: () => Promise<unknown>) => work() };
  const opener = new ClientUpstreamSessionOpener(channels, health as unknown as UpstreamHealth, rooms);
  const { signal } = new AbortController();
  const opened = await opener.openSession(CONNECTION, '{}', undefined, signal);
  expect(opened.protocolVersion).toBe('2025-11-25');
  expect(held).toBeGreaterThan(SIZE);
  expect(budget.heldBytes).toBe(0);
});
