import { describe, expect, it } from '@jest/globals';
import { callProxy, rpcOf, toolCall } from '../support/proxy-calls.js';
import { INVALID, MALFORMED, nested, type Refusal, useBadInputProxy } from './proxy-bad-input.support.js';

const proxy = useBadInputProxy();
const { expectRefused, send } = proxy;

const ECHO = '"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}';

describe('a body that is not a message', () => {
  it.each<[string, string | Buffer, Refusal]>([
    ['nothing', '', MALFORMED],
    ['cut off', '{"jsonrpc":"2.0","id":1', MALFORMED],
    ['not JSON', 'hello', MALFORMED],
    ['a comma too many', `{"jsonrpc":"2.0","id":1,${ECHO},}`, MALFORMED],
    ['two messages', `{"jsonrpc":"2.0","id":1,${ECHO}}{"jsonrpc":"2.0","id":2,${ECHO}}`, MALFORMED],
    ['a byte order mark', `\ufeff{"jsonrpc":"2.0","id":1,${ECHO}}`, MALFORMED],
    ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}', MALFORMED],
    ['invalid UTF-8', Buffer.from(`{"jsonrpc":"2.0","id":"\xff",${ECHO}}`, 'latin1'), MALFORMED],
    ['an overlong form', Buffer.from(`{"jsonrpc":"2.0","id":"\xc0\xa2",${ECHO}}`, 'latin1'), MALFORMED],
    ['UTF-16', Buffer.from(`{"jsonrpc":"2.0","id":1,${ECHO}}`, 'utf16le'), MALFORMED],
    ['a batch', `[{"jsonrpc":"2.0","id":1,${ECHO}}]`, INVALID],
    ['an empty batch', '[]', INVALID],
    ['a string', '"tools/list"', INVALID],
    ['null', 'null', INVALID],
    ['no version', `{"id":1,${ECHO}}`, INVALID],
    ['version 1.0', `{"jsonrpc":"1.0","id":1,${ECHO}}`, INVALID],
    ['the version as a number', `{"jsonrpc":2.0,"id":1,${ECHO}}`, INVALID],
    ['no id', `{"jsonrpc":"2.0",${ECHO}}`, INVALID],
    ['an object as id', `{"jsonrpc":"2.0","id":{},${ECHO}}`, INVALID],
    ['an array as id', `{"jsonrpc":"2.0","id":[1],${ECHO}}`, INVALID],
    ['null as id', `{"jsonrpc":"2.0","id":null,${ECHO}}`, INVALID],
    ['true as id', `{"jsonrpc":"2.0","id":true,${ECHO}}`, INVALID],
    ['an infinite id', `{"jsonrpc":"2.0","id":1e999,${ECHO}}`, INVALID],
    ['an endless id', `{"jsonrpc":"2.0","id":"${'x'.repeat(1_000_000)}",${ECHO}}`, INVALID],
    ['no method', '{"jsonrpc":"2.0","id":1}', INVALID],
    ['a number as method', '{"jsonrpc":"2.0","id":1,"method":1}', INVALID],
    ['an empty method', '{"jsonrpc":"2.0","id":1,"method":""}', INVALID],
    ['a request that is an answer', `{"jsonrpc":"2.0","id":1,"result":{},${ECHO}}`, INVALID],
    ['a notification with an id', '{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}', INVALID],
    ['params as an array', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo"]}', INVALID],
    ['params as null', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}', INVALID],
    ['no name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', INVALID],
    ['an object as name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{}}}', INVALID],
    ['65 levels', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${nested(63)}}}`, INVALID],
    ['half a million levels', nested(500_000), INVALID],
    [
      'half a million levels inside',
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${nested(500_000)}}}`,
      INVALID,
    ],
  ])('is refused: %s', (_title, body, refusal) => expectRefused(send(body), refusal));

  it.each(['{', '[', '"', '\\'])('is refused when it is a mebibyte of %j', async (character) => {
    const refusal = await send(character.repeat(1_048_576));
    expect(rpcOf(refusal).error?.code).toBe(-32700);
  });
});

describe('an ambiguous message', () => {
  const messageWith = (members: string): string => `{"jsonrpc":"2.0","id":1,${members}}`;
  const call = (params: string): string => messageWith(`"method":"tools/call","params":{${params}}`);

  it.each<[string, string]>([
    ['two methods', messageWith(`"method":"tools/list",${ECHO}`)],
    ['two ids', `{"jsonrpc":"2.0","id":1,"id":2,${ECHO}}`],
    ['two params', messageWith(`${ECHO},"params":{"name":"strict"}`)],
    ['two names', call('"name":"echo","name":"strict"')],
    ['two names, one escaped', call(String.raw`"name":"echo","n\u0061me":"strict"`)],
    ['two names, both escaped differently', call(String.raw`"\u006eame":"echo","n\u0061me":"strict"`)],
    ['Name next to name', call('"name":"echo","Name":"strict"')],
    ['Name instead of name', call('"Name":"strict"')],
    ['NAME, escaped', call(String.raw`"name":"echo","\u004eAME":"strict"`)],
    ['Arguments next to arguments', call('"name":"echo","arguments":{},"Arguments":{"text":1}')],
    ['argumentſ, which some raise to ARGUMENTS', call('"name":"echo","arguments":{},"argumentſ":{}')],
    ['taskID next to taskId', messageWith('"method":"tasks/get","params":{"taskId":"a","taskID":"b"}')],
    ['requeststate next to requestState', call('"name":"echo","requestState":"a","requeststate":"b"')],
    ['Method next to method', messageWith(`${ECHO},"Method":"tools/list"`)],
    ['PARAMS next to params', messageWith(`${ECHO},"PARAMS":{"name":"strict"}`)],
    ['Id next to id', messageWith(`${ECHO},"Id":2`)],
    ['JsonRpc next to jsonrpc', messageWith(`${ECHO},"JsonRpc":"1.0"`)],
    ['the same key twice in the arguments', call('"name":"echo","arguments":{"text":"a","text":"b"}')],
    ['the same, escaped', call(String.raw`"name":"echo","arguments":{"text":"a","te\u0078t":"b"}`)],
    ['the same, deep in an array', call('"name":"echo","arguments":{"deep":[[{"a":1,"b":2,"a":3}]]}')],
    ['the same in _meta', call('"name":"echo","_meta":{"progressToken":1,"progressToken":2}')],
  ])('is refused: %s', (_title, body) => expectRefused(send(body), INVALID));

  it('passes when other keys of the arguments differ only in case', async () => {
    const body = call('"name":"echo","arguments":{"key":"a","Key":"b"}');
    const { result } = rpcOf(await send(body));
    expect(JSON.parse(result?.content?.[0]?.text ?? '')).toMatchObject({ arguments: { key: 'a', Key: 'b' } });
  });

  it('is forwarded byte for byte', async () => {
    const text = String.raw`"\u0061\/\ud83d\ude00 ü"`;
    const body = `\n{ "params" : {"arguments":{"text":${text}},"name":"\\u0065cho"} ,"id":\t-1.50e+1 , "method":"tools/call","jsonrpc":"2.0","more":[{}]}\r\n`;
    const answer = await send(body);
    expect(answer.text).toContain('"id":-1.50e+1');
    expect(JSON.parse(rpcOf(answer).result?.content?.[0]?.text ?? '')).toEqual({
      name: 'echo',
      arguments: { text: 'a/😀 ü' },
    });
  });
});

describe('a body that is too large', () => {
  const padded = (bytes: number): string => {
    const body = JSON.stringify(toolCall('echo', { text: '' }));
    return body.replace('"text":""', `"text":"${'x'.repeat(bytes - body.length)}"`);
  };

  it('passes with 1 MiB', async () => {
    const answer = await send(padded(1_048_576));
    expect({ status: answer.status, code: rpcOf(answer).error?.data.code }).toEqual({ status: 200, code: undefined });
  });

  it.each(['', '/call-tool/echo'])('is refused with one more byte%s', async (more) => {
    const before = proxy.upstream.requests.length;
    const request = { key: proxy.app.apiKey, headers: { connection: 'close' }, body: padded(1_048_577) };
    const answer = await callProxy(proxy.app, proxy.path + more, request);
    expect(answer.status).toBe(413);
    expect(answer.text).toContain('body_too_large');
    expect(proxy.upstream.requests).toHaveLength(before);
  });
});
