import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { OpenConnections } from '../../../connections/open-connections.js';
import type { SealedRequestIds } from '../session/sealed-request-ids.js';
import type { Session } from '../session/sealed-sessions.js';
import { type OpenRequest, OpenRequests, WaitingPlaces } from './open-requests.js';

const connection = { organizationId: 'o', id: 'c', revision: 1 };
const CALLER = { connection, key: 'caller' };
const LIMIT = 100;
const MINUTE = 60_000;
const session = { key: 'k' } as Session;

/** Shows what it is given. */
const ids = {
  seal: (_session: object, target: object) => JSON.stringify(target),
  open: (_session: object, id: unknown) => JSON.parse(String(id)) as object,
} as unknown as SealedRequestIds;

const connections = {
  watchConnection: (_connection: object, onEnd: () => void) => {
    endConnection = onEnd;
    return () => undefined;
  },
} as unknown as OpenConnections;

let requests: OpenRequests;
/** Called when the connection ends. */
let endConnection: () => void;

beforeEach(() => {
  jest.useFakeTimers();
  requests = new OpenRequests(ids, new WaitingPlaces(), connections);
});
afterEach(() => void jest.useRealTimers());

const open = (holder = CALLER, size = 1): OpenRequest => requests.openRequest(session, holder, size);
const take = (id: string, answer: object): boolean => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  return requests.takeAnswer(session, { kind: 'answer', params: {}, body });
};

describe('a request that waits for its client', () => {
  it('resolves with the first result', async () => {
    const { id, answer } = open();
    expect(take(id, { result: { a: 1 } })).toBe(true);
    expect(take(id, { result: { a: 2 } })).toBe(true);
    await expect(answer).resolves.toEqual({ a: 1 });
  });

  it('rejects with the error of its client', async () => {
    const { id, answer } = open();
    take(id, { error: { code: -1, message: 'No' } });
    await expect(answer).rejects.toMatchObject({ code: -1, message: 'No' });
  });

  it('counts what its client has sent', async () => {
    const { id, answer, close } = open(CALLER, 15 * 1024 * 1024);
    take(id, { result: { text: 'x'.repeat(2 * 1024 * 1024) } });
    await expect(answer).rejects.toThrow('Too many calls wait');
    close();
    open(CALLER, 15 * 1024 * 1024);
  });

  it('is given up with its session, and with its connection', async () => {
    const [first, second] = [open(), open()];
    endConnection();
    await expect(second.answer).rejects.toThrow('did not answer');
    requests.endSession({ key: 'another' } as Session);
    expect(first.isAnswered).toBe(false);
    requests.endSession(session);
    await expect(first.answer).rejects.toThrow('did not answer');
  });

  it('is given up after ten minutes, and when the service stops', async () => {
    const [first, second] = [open(), open()];
    jest.advanceTimersByTime(10 * MINUTE);
    await expect(first.answer).rejects.toThrow('did not answer');
    second.close();
    const third = open();
    requests.beforeApplicationShutdown();
    await expect(third.answer).rejects.toThrow('did not answer');
  });

  it('leaves answers to requests of others to them, and refuses those that another process awaits', () => {
    expect(take('{"connectionId":"c"}', { result: {} })).toBe(false);
    expect(() => take('{"process":"p","request":"r"}', { result: {} })).toThrow('Another process');
  });

  it('is one of a limited number of its caller, until it is closed', () => {
    const opened = Array.from({ length: LIMIT }, () => open());
    expect(() => open()).toThrow('Too many calls wait');
    open({ ...CALLER, key: 'another' });
    opened[0]?.close();
    opened[0]?.close();
    open();
    expect(() => open()).toThrow('Too many calls wait');
  });
});
