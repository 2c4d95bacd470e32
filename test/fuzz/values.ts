import * as fc from 'fast-check';

/** Text that parsers, databases, logs and terminals have trouble with. */
const ODD_STRINGS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\u0001\u001b[31m\u007f',
  '\r\nx-injected: 1',
  '\n',
  '\ud800',
  'x\udc00\ud800y',
  '\ufffe\uffff',
  '\ufeff',
  '\u202egnirts\u202c',
  'مرحبا بالعالم',
  '👩‍👩‍👧‍👦',
  'Z̸̢͉a̶l̴g̵o̷',
  '\u2028\u2029',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  'true',
  'NaN',
  '-1',
  '0',
  '1e400',
  '9007199254740993',
  "'; DROP TABLE threads; --",
  '%',
  '%00',
  '%_\\',
  '\\',
  '\\u0000',
  '../../../etc/passwd',
  '..%2f..%2f',
  '${jndi:ldap://127.0.0.1/x}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '*',
  'self',
  '***',
  '[]',
  '{"a":1}',
  'self, *',
  '=?base64?4pyT?=',
  'ſelf',
  'İ',
  'ﬃ',
  'é',
  'e\u0301',
  'x'.repeat(64),
  'x'.repeat(65),
  '_'.repeat(100),
  'y'.repeat(101),
  'A-'.repeat(64),
  'z'.repeat(129),
  '\u{1f600}'.repeat(64),
  'w'.repeat(257),
  'v'.repeat(4_097),
  '01234567-89ab-7def-8123-456789abcdef',
  '00000000-0000-0000-0000-000000000000',
  '01234567-89AB-7DEF-8123-456789ABCDEF',
  'urn:uuid:01234567-89ab-7def-8123-456789abcdef',
];

export const oddString: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...ODD_STRINGS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 24 }) },
  { weight: 1, arbitrary: fc.array(fc.integer({ min: 0xd7f0, max: 0xe010 }), { maxLength: 6 }).map(ofCodeUnits) },
);

/** Strings that fit a pattern or a length that a schema asks for, chosen to be as odd as it allows. */
export function stringsWithin(accepts: (text: string) => boolean): string[] {
  return [...ODD_STRINGS, 'a', 'Title', 'thread-1', 'abc_DEF-123', '{}', 'https://127.0.0.1/', 'smart'].filter(accepts);
}

/** JSON that no JavaScript value stands for; `@@raw:n@@` is replaced by it where the body is written. */
export const RAW_JSON = [
  '1e400',
  '-0',
  '1E-400',
  '123456789012345678901234567890123456789',
  '0.1e1',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"a":1,"a":2}',
  '"\\u0000"',
  '"\\ud800"',
  '[1,]',
  'NaN',
  nested('[', ']', 20),
  nested('[', ']', 63),
  nested('[', ']', 65),
  nested('{"a":', '}', 60, '1'),
  nested('{"a":', '}', 500, '1'),
  nested('[', ']', 6_000),
  `"${'x'.repeat(70_000)}"`,
  `[${'{},'.repeat(5_000)}{}]`,
];

/** Written as it stands, without the quotes around it. */
const rawJson: fc.Arbitrary<string> = fc.nat(RAW_JSON.length - 1).map((index) => `@@raw:${index}@@`);

export const oddNumber: fc.Arbitrary<number> = fc.constantFrom(
  0,
  -0,
  -1,
  1,
  0.5,
  1e-320,
  1e21,
  1e308,
  2 ** 31,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 32,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  64,
  1_001,
);

/** Any JSON value, small, and odd more often than not. */
export const oddJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: oddString },
  { weight: 3, arbitrary: oddNumber },
  { weight: 3, arbitrary: fc.constantFrom<unknown[]>(null, true, false, [], {}, [null], [[]], [{}], { '': '' }) },
  { weight: 2, arbitrary: rawJson },
  { weight: 1, arbitrary: fc.array(oddString, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(oddString, oddNumber, { maxKeys: 4 }) },
);

/** Header values: what HTTP lets through. */
export const oddHeader: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_STRINGS.filter((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text))),
  fc.constantFrom(
    '*/*',
    'q=1',
    ';',
    ',',
    '"',
    'application/json',
    'text/event-stream',
    'x'.repeat(300),
    '\xff\xfe',
    '0x10',
    '-1',
  ),
);

/** One segment of a path. */
export const oddSegment: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: oddString.map(encode) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '%',
      '%zz',
      '%c0%ae',
      '..',
      '.',
      '%2e%2e',
      '%00',
      '%ff%fe',
      '*',
      ';a=b',
      'a?b',
      'x'.repeat(2_000),
    ),
  },
);

function nested(open: string, close: string, depth: number, inner = ''): string {
  return open.repeat(depth) + inner + close.repeat(depth);
}

function ofCodeUnits(units: number[]): string {
  return String.fromCharCode(...units);
}

/** As a segment of a URL; half a surrogate pair, which no URL can hold, becomes what UTF-8 would make of it. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
