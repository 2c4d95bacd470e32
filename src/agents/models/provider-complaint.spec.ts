import { describe, expect, it } from '@jest/globals';
import { APICallError } from 'ai';
import { complaintOf } from './provider-complaint.js';

function call(responseBody: string, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: 'Bad Request',
    url: 'http://x',
    requestBodyValues: {},
    statusCode: 400,
    responseBody,
    responseHeaders,
  });
}

describe('complaintOf', () => {
  it.each<[string, unknown, string | undefined, string[]]>([
    ['OpenAI', { error: { message: 'No.', type: 'a', code: 'b' } }, 'No.', ['b', 'a']],
    [
      'Google',
      {
        error: { message: 'No.', code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }, 'x'] },
      },
      'No.',
      ['INVALID_ARGUMENT', 'API_KEY_INVALID'],
    ],
    ['Google, as a list', [{ error: { message: 'No.', status: 'INTERNAL' } }], 'No.', ['INTERNAL']],
    ['AWS', { __type: 'com.amazonaws#ThrottlingException', message: 'No.' }, 'No.', ['ThrottlingException']],
    ['AWS, in capitals', { Message: 'No.' }, 'No.', []],
    ['Mistral', { object: 'error', message: 'No.', type: 'a', code: null }, 'No.', ['a']],
    ['Mistral, about a request', { detail: [{ loc: ['body', 'n'], msg: 'No' }, 5] }, 'body.n: No', []],
    ['FastAPI', { detail: 'No.' }, 'No.', []],
    ['another API', { what: 'No.' }, undefined, []],
    ['another API, with lists', { error: ['No.'], detail: {}, message: 5 }, undefined, []],
    ['nobody', 'No.', undefined, []],
    ['nobody', null, undefined, []],
  ])('reads the document of %s', (_, document, message, reasons) => {
    expect(complaintOf(call(JSON.stringify(document)))).toMatchObject({ status: 400, message, reasons });
  });

  it('reads the header of AWS', () => {
    const headers = { 'x-amzn-errortype': 'ThrottlingException:http://internal.amazon.com/coral/' };
    expect(complaintOf(call('{}', headers))?.reasons).toEqual(['ThrottlingException']);
  });

  it('takes no message from a stream, in which no secret has been replaced', () => {
    const headers = { 'content-type': 'text/event-stream; charset=utf-8' };
    expect(complaintOf(call('{"error":{"message":"key","code":"c"}}', headers))).toMatchObject({
      message: undefined,
      reasons: ['c'],
    });
  });

  it('survives what is no document', () => {
    expect(complaintOf(call('<html>'))).toMatchObject({ message: undefined, reasons: [] });
    for (const nothing of [undefined, null, 'text', 5, [], {}, new Error('x')]) {
      expect(complaintOf(nothing)).toBeUndefined();
    }
  });
});
