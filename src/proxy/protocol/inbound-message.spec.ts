import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DomainError } from '../../core/domain-error.js';
import { type InboundMessage, type InboundRequest, readMessage } from './inbound-message.js';

/** A JSON value as text, in any equivalent notation. */
const respelled = (value: unknown): fc.Arbitrary<string> =>
  fc.infiniteStream(fc.nat({ max: 5 })).map((choices) => spell(value, () => Number(choices.next().value)));

function spell(value: unknown, choose: () => number): string {
  const space = (): string => ['', '', ' ', '\n', '\t\r\n', ' '][choose()] ?? '';
  const around = (text: string): string => space() + text + space();
  if (typeof value === 'string') return around(spellString(value, choose));
  if (Array.isArray(value)) return around(`[${value.map((item) => spell(item, choose)).join(',')}]`);
  if (typeof value !== 'object' || value === null) return around(JSON.stringify(value));
  const members = Object.entries(value).map(([key, item]) => `${spell(key, choose)}:${spell(item, choose)}`);
  return around(`{${members.join(',')}}`);
}

function spellString(value: string, choose: () => number): string {
  const units = value.split('').map((unit) => {
    const isEscaped = choose() === 0 || /[\ud800-\udfff]/.test(unit);
    return isEscaped ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : JSON.stringify(unit).slice(1, -1);
  });
  return `"${units.join('')}"`;
}

const ids = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
/** Tool arguments: any JSON within the accepted nesting depth. */
const values = fc.jsonValue({ maxDepth: 5 });
const requests = fc
  .record({ id: ids, name: fc.string({ unit: 'binary' }), args: fc.dictionary(fc.string({ unit: 'binary' }), values) })
  .map(({ id, name, args }) => ({
    before: { x: '"id":1', id: 2 },
    jsonrpc: '2.0',
    id,
    params: { arguments: args, name },
    method: 'tools/call',
  }));
const spelledRequests = requests.chain((request) => respelled(request).map((text) => ({ request, text })));

function requestIn(text: string): InboundRequest {
  const message = readMessage(Buffer.from(text));
  if (message.kind !== 'request') throw new Error('Not a request.');
  return message;
}

function read(body: Buffer): InboundMessage | DomainError {
  try {
    return readMessage(body);
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

describe('readMessage', () => {
  it('reads a request in any notation as JSON.parse does', () => {
    fc.assert(
      fc.property(spelledRequests, ({ text }) => {
        const parsed = JSON.parse(text) as { id: unknown; params: object; method: string };
        const { id, params, method } = requestIn(text);
        expect({ id: JSON.parse(id) as unknown, params, method }).toEqual({
          id: parsed.id,
          params: parsed.params,
          method: parsed.method,
        });
      }),
    );
  });

  it('returns the positions of the id and the name, so that they can be replaced', () => {
    fc.assert(
      fc.property(spelledRequests, ({ text }) => {
        const { idStart, idEnd, nameRange, body, id } = requestIn(text);
        expect(body.toString('utf8', idStart, idEnd)).toBe(id);
        const withOtherId = Buffer.concat([body.subarray(0, idStart), Buffer.from('"other"'), body.subarray(idEnd)]);
        const { params, ...rest } = JSON.parse(text) as { params: { name: string } };
        expect(JSON.parse(withOtherId.toString())).toEqual({ ...rest, params, id: 'other' });
        const name = body.toString('utf8', nameRange?.start, nameRange?.end);
        expect(JSON.parse(name)).toBe(params.name);
      }),
    );
  });

  it('rejects what JSON.parse rejects, and throws only domain errors', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ',',
      ':',
      '1',
      '-',
      'e',
      'null',
      '"id"',
      '"params"',
      ' ',
    );
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
      fc.json(),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          texts.map((text) => Buffer.from(text)),
          fc.uint8Array().map(Buffer.from),
        ),
        (body) => {
          const outcome = read(body);
          if (isJson(body)) return;
          expect(outcome).toMatchObject({ code: 'malformed_json' });
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('rejects duplicate keys at any depth and in any notation', () => {
    const twice = fc.tuple(fc.string({ unit: 'binary' }), values, values, fc.nat(40)).chain(([key, a, b, depth]) =>
      fc.tuple(respelled(key), respelled(key)).map(([first, second]) => {
        const inner = `{${first}:${JSON.stringify(a)},${second}:${JSON.stringify(b)}}`;
        return '['.repeat(depth) + inner + ']'.repeat(depth);
      }),
    );
    fc.assert(
      fc.property(twice, (inner) => {
        const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":${inner}}}}`;
        expect(read(Buffer.from(text))).toMatchObject({ code: 'invalid_rpc_request' });
      }),
    );
  });
});

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}
