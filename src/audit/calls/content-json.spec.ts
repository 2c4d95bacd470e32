import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { generateApiKey } from '../../core/api-key-value.js';
import { contentJson } from './content-json.js';

/** Text that PostgreSQL's `jsonb` accepts. */
const STORABLE = /^[^\0\p{Surrogate}]*$/u;

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)]);
}

const recorded = (value: unknown): unknown => JSON.parse(contentJson(value));

describe('recorded arguments and results', () => {
  it.each<[string, unknown, unknown]>([
    ['plain values', { a: [1, -2.5, true, null, 'x'], b: {} }, { a: [1, -2.5, true, null, 'x'], b: {} }],
    ['a secret text', { password: 'hunter2' }, { password: '***' }],
    [
      'a secret of another type',
      { a: [{ Token: 7 }, { tokens: ['x'] }, { secret: { a: 1 } }, { otp: null }] },
      {
        a: [{ Token: '***' }, { tokens: '***' }, { secret: '***' }, { otp: '***' }],
      },
    ],
    [
      'a list of named values',
      [
        { name: 'Authorization', value: 'x' },
        { key: 'page', value: 2 },
      ],
      [
        { name: 'Authorization', value: '***' },
        { key: 'page', value: 2 },
      ],
    ],
    [
      'a pair',
      [
        ['Cookie', 'x'],
        ['page', '2'],
      ],
      [
        ['Cookie', '***'],
        ['page', '2'],
      ],
    ],
    ['options of a command', ['run', '--token', 'x', 'y'], ['run', '--token', '***', 'y']],
    [
      'variables of the environment',
      { env: { HOME: 'x' }, nodes: { environment: 'production' } },
      {
        env: '***',
        nodes: { environment: 'production' },
      },
    ],
    ['headers of a connection', { connection_headers: { headers: { 'x-any': 'x' } } }, { connection_headers: '***' }],
    ['JSON in a text', { text: ' {"a": {"password": "x"}, "b": 1}' }, { text: '{"a":{"password":"***"},"b":1}' }],
    [
      'JSON in JSON in a text',
      [JSON.stringify([JSON.stringify({ pin: 1 })])],
      [JSON.stringify([JSON.stringify({ pin: '***' })])],
    ],
    ['JSON that names a secret twice', '{"a":{"pin":1},"a":2}', '{"a":2}'],
    ['text that is not JSON', '{"pin":1', '{"pin":***'],
    ['a name that is a secret', { 'x?pin=7': 1 }, { 'x?pin=***': '***' }],
    ['values that JSON cannot represent', { a: undefined, b: Number.NaN }, { b: null }],
    ['NUL and half a surrogate pair', ['\0', '\ud800', { '\0': 1 }], ['\ufffd', '\ufffd', { '\ufffd': 1 }]],
    ['nothing', null, null],
  ])('support %s', (_what, value, expected) => expect(recorded(value)).toEqual(expected));

  it('are bounded in bytes and depth', () => {
    const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    expect(recorded('x'.repeat(16_382))).toBe('x'.repeat(16_382));
    expect(recorded('x'.repeat(16_383))).toEqual({ truncated: true, bytes: 16_385 });
    expect(recorded('é'.repeat(8192))).toEqual({ truncated: true, bytes: 16_386 });
    expect(recorded(nested(65))).toEqual(nested(65));
    expect(recorded(nested(66))).toEqual({ truncated: true, bytes: 132 });
    expect(recorded({ a: nested(100_000) })).toMatchObject({ truncated: true });
    expect(recorded({ ['x'.repeat(20_000)]: 1 })).toMatchObject({ truncated: true });
  });

  it('never contain the value of a secret name, an API key or a bearer token, at any depth', () => {
    const secretNames = ['password', 'API-Key', 'x_auth_token', 'clientSecret', 'Cookie', 'userPIN', 'AUTHORIZATION'];
    const planted = 'Zq7Planted9Secret';
    const key = generateApiKey();
    const { tree } = fc.letrec((tie) => ({
      leaf: fc.constantFrom<unknown>(
        `my key is ${key}.`,
        `Bearer ${planted}`,
        `x?token=${planted}`,
        1,
        null,
        'half \ud800',
        '\0',
      ),
      secret: fc
        .tuple(fc.constantFrom(...secretNames), fc.constantFrom<unknown>(planted, [planted], { a: planted }))
        .map(([name, value]) => ({ [name]: value })),
      inText: tie('tree').map((value) => JSON.stringify(value)),
      tree: fc.oneof(
        { maxDepth: 5 },
        tie('leaf'),
        tie('secret'),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), tie('tree'), { maxKeys: 4 }),
        tie('inText'),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const json = contentJson(value);
        expect(json).not.toContain(planted);
        expect(json).not.toContain(key);
        expect(Buffer.byteLength(json)).toBeLessThanOrEqual(16 * 1024);
        for (const text of textsIn(JSON.parse(json))) expect(text).toMatch(STORABLE);
      }),
      { numRuns: 500 },
    );
  });
});
