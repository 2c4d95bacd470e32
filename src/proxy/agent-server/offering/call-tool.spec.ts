import { describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../../core/api-key-value.js';
import { type InboundRequest, readRequest } from '../../protocol/inbound-message.js';
import { callWithin } from './agent-tool-router.js';

const request = (text: string): InboundRequest => readRequest(Buffer.from(text));
const callOf = (args: string): InboundRequest =>
  request(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool"${args}}}`);

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
    expect(JSON.parse(callWithin(callOf(',"arguments":{"name":"a"}')).body.toString())).toMatchObject({
      params: { name: 'a', arguments: {} },
    });
  });

  it.each(['', ',"arguments":null', ',"arguments":[]', ',"arguments":{}', ',"arguments":{"name":"a","arguments":[]}'])(
    'refuses a call with %j',
    (args) => {
      expect(() => callWithin(callOf(args))).toThrow(expect.objectContaining({ code: 'invalid_arguments' }));
    },
  );

  it.each(['{"a":[[1]]}', '{"constructor":{"__proto__":1}}', '{"a":"\\u0000","\\u0000":"\\ud800"}'])(
    'accepts %s, as a direct call does',
    (args) => {
      const { params } = callWithin(callOf(`,"arguments":{"name":"a","arguments":${args}}`));
      expect(params).toEqual({ name: 'a', arguments: JSON.parse(args) as unknown });
    },
  );

  it('refuses a credential in the name, as in a direct call', () => {
    expect(() => callWithin(callOf(`,"arguments":{"name":"${generateApiKey()}"}`))).toThrow(
      expect.objectContaining({ code: 'invalid_rpc_request' }),
    );
  });
});
