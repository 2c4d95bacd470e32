import { describe, expect, it } from '@jest/globals';
import { namedHeaders, withArguments } from './modern-headers.js';

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

describe('withArguments', () => {
  const sent = { 'mcp-method': 'tools/call', 'mcp-param-region': 'Bern', 'mcp-param-other': 'x' };

  it('replaces every header that repeats an argument', () => {
    expect(withArguments(sent, { 'mcp-param-region': 'Zürich', 'mcp-param-count': '3' })).toEqual({
      'mcp-method': 'tools/call',
      'mcp-param-region': '=?base64?WsO8cmljaA==?=',
      'mcp-param-count': '3',
    });
  });

  it('leaves none if none is repeated, as while the schema is not known', () => {
    expect(withArguments(sent, {})).toEqual({ 'mcp-method': 'tools/call' });
  });
});
