import { describe, expect, it } from '@jest/globals';
import { generateApiKey } from './api-key-value.js';
import { redactText, isSecretName } from './redact-text.js';

describe('redactText', () => {
  it.each([
    ['Authorization: Bearer abc.def-ghi', 'Authorization: ***'],
    ['sent bearer  abc123== to it', 'sent bearer *** to it'],
    ['Authorization: Basic dXNlcjpwYXNz\r\nAccept: */*', 'Authorization: ***\r\nAccept: */*'],
    ['Cookie: a=b; c=d', 'Cookie: ***'],
    ['https://user:hunter2@host/path', 'https://***@host/path'],
    ['https://host/path?access_token=hunter2&page=2#top', 'https://host/path?access_token=***&page=2#top'],
    ['psql --password=hunter2 --host=db', 'psql --password=*** --host=db'],
    ['Result: {"a": 1, "password": "hun\\"ter2", "b": 2}', 'Result: {"a": 1, "password": ***, "b": 2}'],
    ["{'api_key': 'hunter2', 'b': 2}", "{'api_key': ***, 'b': 2}"],
    ['a: 1, client_secret: hunter2\nb: 2', 'a: 1, client_secret: ***\nb: 2'],
    ['PASSWORD="hunter 2" run', 'PASSWORD=*** run'],
    ['Your API key: hunter2\nhave fun', 'Your API key: ***\nhave fun'],
    ['the access key = hunter2, the rest', 'the access key = ***, the rest'],
    ['a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b', 'a *** b'],
    ['-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ==\n-----END PGP PRIVATE KEY BLOCK----- b', '*** b'],
    ['{"pem":"-----BEGIN PRIVATE KEY-----\\nMIIEcut', '{"pem":"***'],
    ['"{\\"token\\": \\"hunter2\\"}"', '"{\\"token\\": \\***'],
  ])('replaces secrets: %s', (text, redacted) => expect(redactText(text)).toBe(redacted));

  it('replaces Signalbox API keys anywhere in a text', () => {
    const key = generateApiKey();
    expect(redactText(`x${key}y ${key.slice(0, 30)} ${key.slice(0, 12)}`)).toBe(`x*** *** ${key.slice(0, 12)}`);
  });

  it.each([
    'The sum of 2 and 3 is 5.',
    'https://host:8080/a?page=2&size=3',
    'mailto:someone@example.org, at 10:30: nothing',
    'a token of gratitude, and a password',
    'The primary key: id. Press any key: now',
    '-----BEGIN PUBLIC KEY-----MIIB-----END PUBLIC KEY-----',
    'a = b == c: "d"',
    '',
  ])('leaves unchanged: %s', (text) => expect(redactText(text)).toBe(text));

  // Quadratic time would exceed the test's time limit.
  it.each([
    'a',
    'token=',
    'token:',
    '"',
    '\\',
    '://',
    'bearer ',
    ' ',
    "token='",
    'token: "',
    'sbx_',
    '{"a":',
    'api key',
    'key ',
    '-----BEGIN PRIVATE KEY-----',
  ])('takes linear time: %j', (part) => expect(redactText(part.repeat(2_000_000 / part.length))).not.toBe(''));
});

describe('a secret name', () => {
  it.each([
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'password',
    'PASSWORD',
    'pass-word',
    'userPassword',
    'passwd',
    'passphrase',
    'secret',
    'client_secret',
    'clientSecret',
    'token',
    'connection_token',
    'accessToken',
    'x-csrf-token',
    'api key',
    'api_key',
    'X-API-Key',
    'apikey',
    'accessKeyId',
    'AWS_SECRET_ACCESS_KEY',
    'private.key',
    'credentials',
    'session',
    'Mcp-Session-Id',
    'otp',
    'OTP code',
    'pin',
    'userPin',
    'PIN',
    'p.i.n',
    'pwd',
    'auth',
    'ｐａｓｓｗｏｒｄ',
    'pass\u200bword',
    'connection_headers',
    'mcpServers',
  ])('is %s', (name) => expect(isSecretName(name)).toBe(true));

  it.each([
    'message',
    'author',
    'ping',
    'spinner',
    'shipping',
    'footprint',
    'passenger',
    'key',
    'id',
    'name',
    'url',
    '',
  ])('is not %s', (name) => expect(isSecretName(name)).toBe(false));
});
