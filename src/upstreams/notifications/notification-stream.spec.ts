import { describe, expect, it } from '@jest/globals';
import { PassThrough, Readable } from 'node:stream';
import type { UpstreamAnswer } from '../messages/upstream-channel.js';
import { UpstreamError, type UpstreamErrorKind } from '../contract/upstream-error.js';
import { MAX_EVENTS, followNotifications, FloodGuard, MAX_BYTES } from './notification-stream.js';

type Opening = UpstreamAnswer | UpstreamError;

const KINDS = ['tools', 'prompts'] as const;

/** An upstream with a scripted answer for each opening of the stream. */
function upstream(...answers: Opening[]) {
  const received: string[] = [];
  let opened = 0;
  const source = {
    open: (): Promise<UpstreamAnswer> => {
      const answer = answers[opened++];
      if (answer === undefined) return Promise.reject(new UpstreamError('protocol', 'Unexpected opening.'));
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    changed: (kind: string) => void received.push(kind),
    updated: (uri: string) => void received.push(uri),
    reopened: () => undefined,
    asked: (id: string | number, { method }: { method: string }) => void received.push(`${method} ${id}`),
  };
  return { source, received, opened: () => opened };
}

function stream(body: Readable): UpstreamAnswer {
  return { status: 200, contentType: 'text/event-stream', headers: {}, body };
}

const events = (...data: string[]): UpstreamAnswer =>
  stream(Readable.from([Buffer.from(data.map((one) => `data: ${one}\n\n`).join(''))], { objectMode: false }));
const notification = (method: string): string => JSON.stringify({ jsonrpc: '2.0', method });
const fault = (kind: UpstreamErrorKind, status?: number): UpstreamError =>
  new UpstreamError(kind, 'It failed.', status === undefined ? {} : { status });
const neverAborted = new AbortController().signal;

describe('followNotifications', () => {
  it('reports only changed lists and pings', async () => {
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping' });
    const tools = notification('notifications/tools/list_changed');
    const others = ['rubbish', '[]', 'null', '{"method":{}}', notification('notifications/message')];
    const { source, received, opened } = upstream(
      events(...others, tools, ping, '{"method":"ping"}'),
      fault('protocol'),
    );

    expect(await followNotifications(source, KINDS, neverAborted, 10)).toBe('over');
    expect(received).toEqual(['tools', 'ping 7']);
    expect(opened()).toBe(2);
  });

  it.each<[string, Opening]>([
    ['405', { status: 405, contentType: undefined, headers: {}, body: Readable.from([]) }],
    ['JSON', { status: 200, contentType: 'application/json', headers: {}, body: Readable.from([]) }],
    ['a refusal', fault('protocol', 406)],
    ['a refusal of the credential', fault('unauthorized', 401)],
    ['an internal error', fault('unreachable', 500)],
    ['a refused address', fault('refused_address')],
    ['404, although the session is new', fault('session_lost', 404)],
  ])('does not open the stream again after %s', async (_what, answer) => {
    const { source, received, opened } = upstream(answer);

    expect(await followNotifications(source, KINDS, neverAborted, 10)).toBe('over');
    expect(opened()).toBe(1);
    expect(received).toEqual([]);
  });

  it.each<[string, Opening]>([
    ['ended', events()],
    ['could not be opened', fault('unreachable')],
    ['found the upstream busy', fault('unreachable', 503)],
  ])('reopens a stream that %s, and counts every list as changed', async (_what, answer) => {
    const { source, received } = upstream(answer, events(), fault('protocol'));

    await followNotifications(source, KINDS, neverAborted, 10);
    expect(received).toEqual(['tools', 'prompts']);
  });

  it('reports a lost session when a stream that was open cannot be reopened', async () => {
    const { source } = upstream(events(), fault('session_lost', 404));

    expect(await followNotifications(source, KINDS, neverAborted, 10)).toBe('lost');
  });

  it('closes a stream that floods it', async () => {
    const body = new PassThrough();
    const closed = new Promise((resolve) => body.once('close', resolve));
    body.on('error', () => undefined);
    const { source, received, opened } = upstream(stream(body));
    body.write(`data: ${notification('notifications/tools/list_changed')}\n\n`.repeat(MAX_EVENTS + 1));

    expect(await followNotifications(source, KINDS, neverAborted, 10)).toBe('over');
    await closed;
    expect([received.length, opened()]).toEqual([MAX_EVENTS, 1]);
  });

  it('ends at once when it is aborted, also between two streams', async () => {
    const abort = new AbortController();
    const { source, opened } = upstream(fault('unreachable'), events());
    const following = followNotifications(source, KINDS, abort.signal);
    setTimeout(() => abort.abort(), 50);

    expect(await following).toBe('over');
    expect(opened()).toBe(1);
  });
});

describe('FloodGuard', () => {
  it('allows a stream within the limits, however long it is', () => {
    const guard = new FloodGuard();
    for (let second = 0; second < 10_000; second++) expect(guard.allows(1000, second * 1000)).toBe(true);
  });

  it('rejects too many events', () => {
    const guard = new FloodGuard();
    for (let event = 0; event < MAX_EVENTS; event++) expect(guard.allows(1, 0)).toBe(true);
    expect(guard.allows(1, 9_999)).toBe(false);
  });

  it('rejects too many bytes', () => {
    const guard = new FloodGuard();
    expect(guard.allows(MAX_BYTES, 0)).toBe(true);
    expect(guard.allows(1, 0)).toBe(false);
  });
});
