import { describe, expect, it } from '@jest/globals';
import { type InboundRequest, readMessage } from '../../protocol/inbound-message.js';
import { callWithin } from './call-tool.js';

function request(text: string): InboundRequest {
  const message = readMessage(Buffer.from(text));
  if (message.kind !== 'request') throw new Error('not a request');
  return message;
}

describe('callWithin', () => {
  it('keeps every other byte, and the bytes of the arguments', () => {
    const { body, id, idStart, idEnd, params } = callWithin(
      request(
        '{"params":{"_meta":{"progressToken":1},"arguments":{"arguments" : {"é": 12345678901234567890.0 },"name":"a"},' +
          ' "name" : "call_tool"},"id":"ä","method":"tools/call","jsonrpc":"2.0"}',
      ),
    );
    expect(body.toString()).toBe(
      '{"params":{"_meta":{"progressToken":1},"arguments":{"é": 12345678901234567890.0 }, "name" : "a"},"id":"ä",' +
        '"method":"tools/call","jsonrpc":"2.0"}',
    );
    expect(params).toMatchObject({ name: 'a', arguments: { é: 1.2345678901234567e19 } });
    expect(body.subarray(idStart, idEnd).toString()).toBe(id);
  });

  it('calls without arguments with none', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"a"}}}';
    expect(JSON.parse(callWithin(request(text)).body.toString())).toMatchObject({
      params: { name: 'a', arguments: {} },
    });
  });

  it.each(['', ',"arguments":null', ',"arguments":[]', ',"arguments":{}', ',"arguments":{"name":"a","arguments":[]}'])(
    'refuses a call with %j',
    (args) => {
      const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool"${args}}}`;
      expect(() => callWithin(request(text))).toThrow(expect.objectContaining({ code: 'invalid_arguments' }));
    },
  );
});
