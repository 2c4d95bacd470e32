import { describe, expect, it } from '@jest/globals';
import { readMessage } from '../../protocol/inbound-message.js';
import { renameTool } from './agent-tool-router.js';

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
