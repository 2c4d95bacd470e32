import { describe, expect, it } from '@jest/globals';
import { namedHeaders } from './modern-agent-requests.js';

describe('namedHeaders', () => {
  it.each([
    ['echo', 'echo'],
    ['with spaces inside', 'with spaces inside'],
    ['Zürich', '=?base64?WsO8cmljaA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['a\r\nb: c', '=?base64?YQ0KYjogYw==?='],
    ['=?base64?ZWNobw==?=', '=?base64?PT9iYXNlNjQ/WldOb2J3PT0/PQ==?='],
  ])('encodes the name %j as %j', (name, header) => {
    expect(namedHeaders({ 'mcp-name': 'composed', 'mcp-method': 'tools/call' }, name)).toEqual({
      'mcp-name': header,
      'mcp-method': 'tools/call',
    });
  });

  it('adds no name if the caller sent none, and keeps only MCP headers', () => {
    expect(namedHeaders({ authorization: 'Bearer x', cookie: 'a=b' }, 'echo')).toEqual({});
  });
});
