import { describe, expect, it } from '@jest/globals';
import type { Connection } from '../../connections/connection.js';
import type { Principal } from '../../core/principal.js';
import { readMessage } from './inbound-message.js';
import { ProxyCaller, requireMethod } from './proxy-caller.js';

const CONNECTION = { id: 'connection' } as Connection;

function callerWith(grant: string): ProxyCaller {
  const permissions = { [CONNECTION.id]: [grant] };
  return new ProxyCaller({ permissions } as unknown as Principal, CONNECTION, 'request');
}

function checking(method: string, grant: string): () => void {
  const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })));
  return () => requireMethod(message, callerWith(grant));
}

describe('the permission for a method', () => {
  it.each([
    ['resources/read', 'resources'],
    ['resources/directory/read', 'resources'],
    ['skills/list', 'resources'],
    ['skills/get', 'resources'],
    ['prompts/get', 'prompts'],
  ])('of %s is %s', (method, grant) => {
    expect(checking(method, grant)).not.toThrow();
    expect(checking(method, '*')).not.toThrow();
    expect(checking(method, 'echo')).toThrow(expect.objectContaining({ code: 'permission_denied' }));
  });

  it('of a method that the service does not know is "*"', () => {
    expect(checking('test/other', '*')).not.toThrow();
    expect(checking('test/other', 'resources')).toThrow(expect.objectContaining({ code: 'unknown_method' }));
  });
});
