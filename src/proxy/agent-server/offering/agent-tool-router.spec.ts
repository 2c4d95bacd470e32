import { describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../../core/api-key-value.js';
import { type InboundRequest, readRequest, readMessage } from '../../protocol/inbound-message.js';
import { callWithin, renameTool, mirroredArguments } from './agent-tool-router.js';

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

function renamed(body: string, to: string) {
  const message = readMessage(Buffer.from(body));
  if (message.kind !== 'request') throw new Error('not a request');
  const { body: bytes, idStart, idEnd, params } = renameTool(message, to);
  return { text: bytes.toString('utf8'), id: bytes.subarray(idStart, idEnd).toString('utf8'), name: params['name'] };
}

describe('renameTool', () => {
  it.each([
    [
      'after the id',
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"left_echo","arguments":{"name":"left_echo"}}}',
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"name":"left_echo"}}}',
      '7',
    ],
    [
      'before the id',
      '{"params":{"arguments":{"name":"x"}, "name" : "left_echo"},"method":"tools/call","id":"ä","jsonrpc":"2.0"}',
      '{"params":{"arguments":{"name":"x"}, "name" : "echo"},"method":"tools/call","id":"ä","jsonrpc":"2.0"}',
      '"ä"',
    ],
    [
      'after multi-byte characters',
      '{"jsonrpc":"2.0","id":"☃","params":{"arguments":{"☃":"😀"},"n\\u0061me":"l\\u0065ft"},"method":"tools/call"}',
      '{"jsonrpc":"2.0","id":"☃","params":{"arguments":{"☃":"😀"},"n\\u0061me":"echo"},"method":"tools/call"}',
      '"☃"',
    ],
  ])('replaces only the name %s', (_title, body, text, id) => {
    expect(renamed(body, 'echo')).toEqual({ text, id, name: 'echo' });
  });

  it('serializes any name as JSON', () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}';
    const name = 'quote " back\\slash \u2028 ü';
    expect(JSON.parse(renamed(body, name).text)).toMatchObject({ id: 1, params: { name } });
  });
});

const schema = {
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    inner: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } },
    hostile: { type: 'string', 'x-mcp-header': 'a\r\nb' },
    plain: { type: 'string' },
  },
};

describe('mirroredArguments', () => {
  it('are those that the schema names, at any depth', () => {
    const args = { region: 'Zürich', count: 3, inner: { flag: false }, hostile: 'x', plain: 'y' };
    expect(mirroredArguments(schema, args)).toEqual({
      'mcp-param-region': 'Zürich',
      'mcp-param-count': '3',
      'mcp-param-flag': 'false',
    });
  });

  it.each([[{}], [{ region: null, inner: 'x' }], [undefined], [[]]])('are none in %j', (args) => {
    expect(mirroredArguments(schema, args)).toEqual({});
  });

  it.each([[undefined], [null], [{ properties: [] }], [{ properties: { region: true } }]])(
    'are none by the schema %j',
    (malformed) => {
      expect(mirroredArguments(malformed, { region: 'x' })).toEqual({});
    },
  );
});
