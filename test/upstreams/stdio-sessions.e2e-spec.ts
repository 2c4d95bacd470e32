import { describe, expect, it } from '@jest/globals';
import type { UpstreamChannel } from '../../src/upstreams/messages/upstream-channel.js';
import { entryOf } from '../support/reference-servers.js';
import {
  call,
  events,
  forever,
  initialize,
  json,
  MINI,
  next,
  outgoing,
  request,
  say,
  send,
  target,
  useStdioSessions,
} from './stdio-channel.support.js';
import { eventually } from '../support/eventually.js';
import { isAlive } from '../support/is-alive.js';

const EVERYTHING = entryOf('server-everything');

const stdio = useStdioSessions();
const { start, opened } = stdio;

describe('StdioSessions', () => {
  it('gives each session its own process', async () => {
    const [a, b] = await Promise.all([opened('a'), opened('b')]);
    expect(await say(a, 1, 'pid')).not.toBe(await say(b, 1, 'pid'));
    const again = stdio.sessions.channel({ key: 'a', initialize: initialize() }, target());
    expect(await say(again, 2, 'pid')).toBe(await say(a, 3, 'pid'));
  });

  it('restarts a program that has ended, initialized as the session was', async () => {
    start({ idleMs: 200 });
    const channel = await opened('a', target(), { sampling: {} });
    const pid = Number(await say(channel, 1, 'pid'));
    await eventually(() => !isAlive(pid));
    const resume = (): UpstreamChannel =>
      stdio.sessions.channel({ key: 'a', initialize: initialize({ sampling: {} }) }, target());
    const resumed = resume();
    const [one, other] = await Promise.all([say(resumed, 2, 'pid'), say(resume(), 3, 'pid')]);
    expect(one).toBe(other);
    expect(JSON.parse(await say(resumed, 1, 'initialization'))).toMatchObject({ capabilities: { sampling: {} } });
    // The answer to the replay is not delivered, but the effect of `initialized` is visible.
    expect(await next(events((await resumed.listen({ signal: forever })).body))).toMatchObject({
      method: 'notifications/tools/list_changed',
    });
  });

  it('ends the program on request, and when the connection is edited', async () => {
    const first = await opened('a');
    const [one, two] = [Number(await say(first, 1, 'pid')), Number(await say(await opened('b'), 1, 'pid'))];
    expect(await first.end({ signal: forever })).toMatchObject({ status: 200, contentType: undefined });
    const edited = stdio.sessions.channel({ key: 'b', initialize: initialize() }, target([MINI], { revision: '2' }));
    expect(await say(edited, 1, 'echo', { text: 'x' })).toBe('x');
    await eventually(() => !isAlive(one) && !isAlive(two));
  });

  it('lets server-everything request sampling, as if the client had started it', async () => {
    const channel = await opened('a', target([EVERYTHING, 'stdio']), { sampling: {} });
    const list = await json(send(channel, request(1, 'tools/list')));
    const { tools } = list.result as { tools: { name: string }[] };
    const tool = tools.find(({ name }) => name.includes('sampling'))?.name ?? '';
    const answer = await send(channel, call(2, tool, { prompt: 'hello', maxTokens: 10 }));
    const stream = events(answer.body);
    let message = await next(stream);
    while (message?.method !== 'sampling/createMessage') message = await next(stream);
    const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'a sample' } };
    await send(channel, outgoing({ jsonrpc: '2.0', id: message.id, result }));
    while (message !== undefined && message.id !== 2) message = await next(stream);
    expect(JSON.stringify(message?.result)).toContain('a sample');
  });
});
