import { describe, expect, it } from '@jest/globals';
import { namedHeaders } from './modern-agent-requests.js';

describe('the headers of a request that goes on under another name', () => {
  it.each([
    ['echo', 'echo'],
    ['with spaces inside', 'with spaces inside'],
    ['Zürich', '=?base64?WsO8cmljaA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['a\r\nb: c', '=?base64?YQ0KYjogYw==?='],
    ['=?base64?ZWNobw==?=', '=?base64?PT9iYXNlNjQ/WldOb2J3PT0/PQ==?='],
  ])('carry %j as %j', (name, header) => {
    expect(namedHeaders({ 'mcp-name': 'composed', 'mcp-method': 'tools/call' }, name)).toEqual({
      'mcp-name': header,
      'mcp-method': 'tools/call',
    });
  });

  it('name nothing where the caller named nothing, and carry nothing that is not of MCP', () => {
    expect(namedHeaders({ authorization: 'Bearer x', cookie: 'a=b' }, 'echo')).toEqual({});
  });
});
