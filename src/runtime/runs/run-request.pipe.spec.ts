import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../core/domain-error.js';
import { RunRequestPipe } from './run-request.pipe.js';
import { RunRequest } from './run-request.dto.js';

const pipe = new RunRequestPipe(RunRequest);
const user = { role: 'user', parts: [{ type: 'text', text: 'hi' }] };
const valid = { messages: [user], agent: { id: 'a' } };

function faultOf(body: unknown): { code: string; path: string | undefined } {
  try {
    pipe.transform(body);
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code, path: error.errors?.[0]?.path };
    throw error;
  }
  throw new Error('The body was accepted.');
}

describe('run requests', () => {
  it.each([
    valid,
    { ...valid, tier: 'fast', temperature: 0 },
    {
      ...valid,
      temperature: 2,
      messages: [
        { role: 'system', parts: user.parts },
        { ...user, id: 'm-1' },
      ],
    },
  ])('accepts %j', (body) => {
    expect(pipe.transform(body)).toEqual(body);
  });

  it.each<[unknown, string, string]>([
    [undefined, 'invalid_request', ''],
    [[], 'invalid_request', ''],
    [{ ...valid, thread_id: 't' }, 'thread_id_in_body', 'thread_id'],
    [{ ...valid, extra: 1 }, 'unknown_property', 'extra'],
    [{ ...valid, agent: { id: 'a', name: 'x' } }, 'unknown_property', 'agent.name'],
    [{ ...valid, messages: [{ ...user, metadata: {} }] }, 'unknown_property', 'messages[0].metadata'],
    [
      { ...valid, messages: [{ ...user, parts: [{ type: 'text', text: '', x: 1 }] }] },
      'unknown_property',
      'messages[0].parts[0].x',
    ],
    [{ ...valid, messages: [] }, 'user_message_count', 'messages'],
    [{ ...valid, messages: [user, user] }, 'user_message_count', 'messages'],
    [{ ...valid, messages: [{ ...user, role: 'assistant' }] }, 'role_not_allowed', 'messages[0].role'],
    [
      { ...valid, messages: [{ role: 'user', parts: [{ type: 'image', url: 'x' }] }] },
      'part_type_not_supported',
      'messages[0].parts[0].type',
    ],
    [{ ...valid, messages: [{ role: 'user', parts: [] }] }, 'invalid_request', 'messages[0].parts'],
    [{ ...valid, messages: 'hello' }, 'invalid_request', 'messages'],
    [{ ...valid, tier: 'huge' }, 'unknown_tier', 'tier'],
    [{ ...valid, temperature: 3 }, 'temperature_out_of_range', 'temperature'],
    [{ ...valid, temperature: '1' }, 'temperature_out_of_range', 'temperature'],
    [{ messages: [user] }, 'invalid_request', 'agent'],
    [
      { ...valid, messages: [{ ...user, parts: [{ type: 'text', text: 'a\u0000b' }] }] },
      'invalid_request',
      'messages[0].parts[0].text',
    ],
  ])('refuses %j with %s at %s', (body, code, path) => {
    expect(faultOf(body)).toEqual({ code, path });
  });
});
