import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { discard } from '../../upstreams/messages/answer-body.js';
import { gather, toModernAnswer, toModernMessage } from './to-modern-answer.js';

const SERVER_INFO = { name: 'upstream', version: '1' };
const KEY = 'io.modelcontextprotocol/serverInfo';
const listed = { method: 'tools/list', serverInfo: SERVER_INFO };
const called = { method: 'tools/call', serverInfo: undefined };

describe('toModernMessage', () => {
  it.each([
    ['an empty result', '{"id":1,"result":{}}', called, { resultType: 'complete' }],
    [
      'a list with other values',
      '{"id":1,"result":{"resultType":"odd","cacheScope":"public","ttlMs":9,"tools":[]}}',
      { ...listed, serverInfo: undefined },
      { resultType: 'complete', cacheScope: 'private', ttlMs: 0, tools: [] },
    ],
    [
      'metadata',
      '{"result":{"_meta":{"a":1}},"id":1}',
      { ...called, serverInfo: SERVER_INFO },
      { resultType: 'complete', _meta: { a: 1, [KEY]: SERVER_INFO } },
    ],
    [
      'metadata that is not an object',
      '{"result":{"_meta":null}}',
      { ...called, serverInfo: SERVER_INFO },
      { resultType: 'complete', _meta: { [KEY]: SERVER_INFO } },
    ],
  ])('completes %s', (_title, text, answered, result) => {
    expect((JSON.parse(toModernMessage(text, answered)) as { result: object }).result).toEqual(result);
  });

  it.each(['{"id":1,"error":{"code":-32050,"message":"No"}}', '{"result":[1]}', '{"result":null}', 'not JSON'])(
    'leaves %s unchanged',
    (text) => {
      expect(toModernMessage(text, listed)).toBe(text);
    },
  );
});

describe('toModernAnswer', () => {
  const streamOf = (text: string) => ({
    status: 200,
    contentType: 'text/event-stream',
    headers: {},
    body: Readable.from([Buffer.from(text)], { objectMode: false }),
  });

  it('keeps only the response, its progress, and the requests that the relay answers', async () => {
    const progress = '{"method":"notifications/progress","params":{"progress":1}}';
    const request = '{"id":7,"method":"sampling/createMessage"}';
    const answer = streamOf(
      [
        'id: 1\ndata: \n\n',
        `data: ${progress}\n\n`,
        'data: {"method":"notifications/tools/list_changed"}\n\n',
        `data: ${request}\n\n`,
        'id: 2\ndata: {"id":1,\ndata: "result":{"n":12345678901234567890}}\n\n',
      ].join(''),
    );
    const text = (await gather(toModernAnswer(answer, called).body)).toString('utf8');
    expect(text).toBe(
      `event: message\ndata: ${progress}\n\nevent: message\ndata: ${request}\n\n` +
        'event: message\ndata: {"id":1, "result":{"resultType":"complete","n":12345678901234567890}}\n\n',
    );
  });

  it('closes the body of the upstream when the answer is discarded', async () => {
    const source = new Readable({ read: () => undefined });
    const { body } = toModernAnswer({ ...streamOf(''), body: source }, called);
    const closed = new Promise((resolve) => source.once('close', resolve));
    discard(body);
    await closed;
    expect(source.destroyed).toBe(true);
  });
});
