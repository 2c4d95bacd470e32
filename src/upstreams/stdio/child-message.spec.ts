import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { canonicalId, oneLine, progressTokenOf, readMessage } from './child-message.js';

describe('readMessage', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'response', id: '1' }],
    ['{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":""}}', { kind: 'response', id: '"1"' }],
    ['{"jsonrpc":"2.0","id":0,"method":"ping"}', { kind: 'request', id: '0', method: 'ping' }],
    ['{"jsonrpc":"2.0","method":"x"}', { kind: 'notification', method: 'x' }],
    [
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}',
      { kind: 'notification', method: 'notifications/progress', progressToken: '7' },
    ],
  ])('reads %s', (line, message) => {
    expect(readMessage(Buffer.from(line))).toEqual(message);
  });

  it.each([
    '',
    'null',
    '7',
    '"text"',
    '[]',
    '[{"jsonrpc":"2.0","method":"x"}]',
    '{}',
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":',
  ])('refuses %j', (line) => expect(readMessage(Buffer.from(line))).toBeUndefined());

  it.each(['{"jsonrpc":"1.0","method":"x"}', '{"jsonrpc":"2.0","id":{},"result":{}}', '{"jsonrpc":"2.0","id":1}'])(
    'refuses %s',
    (line) => expect(readMessage(Buffer.from(line))).toBeUndefined(),
  );
});

describe('oneLine', () => {
  it('keeps the value of any JSON, with any indentation', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('\n', '\r\n', '\r'), (json, lineEnd) => {
        const value: unknown = JSON.parse(json);
        const line = oneLine(Buffer.from(JSON.stringify(value, null, 2).replaceAll('\n', lineEnd))).toString('utf8');
        expect(line).not.toMatch(/[\r\n]/);
        expect(JSON.parse(line)).toEqual(value);
      }),
    );
  });

  it('returns a single line unchanged, and does not modify its input', () => {
    const line = Buffer.from('{"a":"\\n"}');
    expect(oneLine(line)).toBe(line);
    const lines = Buffer.from('{\n}');
    oneLine(lines);
    expect(lines.toString()).toBe('{\n}');
  });
});

describe('ids and tokens', () => {
  it('are compared independently of their notation', () => {
    expect(canonicalId('"\\u0061"')).toBe('"a"');
    expect(canonicalId('1.0')).toBe('1');
  });

  it('reads the progress token of a request', () => {
    expect(progressTokenOf(Buffer.from('{"params":{"_meta":{"progressToken":"t"}}}'))).toBe('"t"');
    expect(progressTokenOf(Buffer.from('{"params":[]}'))).toBeUndefined();
  });
});
