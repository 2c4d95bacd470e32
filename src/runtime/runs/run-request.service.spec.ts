import { describe, expect, it } from '@jest/globals';
import type { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import type { RunRequest } from './run-request.dto.js';
import { requireTokenRequest } from './run-request.service.js';

const visitor = { thread: { id: 'thread', permissions: ['post'] } } as unknown as Principal;
const key = {} as Principal;

const message = (role: string): RunRequest['messages'][number] => ({
  role: role as 'user',
  parts: [{ type: 'text', text: 'hello' }],
});
const requestWith = (change: Partial<RunRequest> = {}): RunRequest => ({
  messages: [message('user')],
  agent: { id: 'agent' },
  ...change,
});

function refusalOf(request: RunRequest): DomainError | undefined {
  try {
    requireTokenRequest(visitor, request);
    return undefined;
  } catch (error) {
    return error as DomainError;
  }
}

describe('requireTokenRequest', () => {
  it('lets a message of the user pass', () => {
    expect(refusalOf(requestWith())).toBeUndefined();
  });

  it.each([
    ['messages[1].role', { messages: [message('user'), message('system')] }],
    ['messages[0].role', { messages: [message('assistant')] }],
    ['tier', { tier: 'thinking' as const }],
    ['temperature', { temperature: 0 }],
  ])('refuses %s', (path, change) => {
    const refusal = refusalOf(requestWith(change));
    expect(refusal).toMatchObject({ code: 'permission_denied', status: 403, errors: [{ path }] });
    expect(refusal?.detail).toContain(`: ${path}.`);
  });

  it('names everything that is refused', () => {
    const request = requestWith({ messages: [message('system'), message('user')], tier: 'fast', temperature: 2 });
    expect(refusalOf(request)?.errors?.map(({ path }) => path)).toEqual(['messages[0].role', 'tier', 'temperature']);
  });

  it('concerns browser tokens only', () => {
    const request = requestWith({ messages: [message('system'), message('user')], tier: 'thinking', temperature: 1 });
    expect(() => requireTokenRequest(key, request)).not.toThrow();
  });
});
