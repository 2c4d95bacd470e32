import { describe, expect, it } from '@jest/globals';
import { mirroredArguments } from './agent-tool-router.js';

const schema = {
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    inner: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'Flag' } } },
    hostile: { type: 'string', 'x-mcp-header': 'a\r\nb' },
    plain: { type: 'string' },
  },
};

describe('mirroredArguments', () => {
  it('are those that the schema names, at any depth', () => {
    const args = { region: 'Zürich', count: 3, inner: { flag: false }, hostile: 'x', plain: 'y' };
    expect(mirroredArguments(schema, args)).toEqual({
      'mcp-param-region': 'Zürich',
      'mcp-param-count': '3',
      'mcp-param-flag': 'false',
    });
  });

  it.each([[{}], [{ region: null, inner: 'x' }], [undefined], [[]]])('are none in %j', (args) => {
    expect(mirroredArguments(schema, args)).toEqual({});
  });

  it.each([[undefined], [null], [{ properties: [] }], [{ properties: { region: true } }]])(
    'are none by the schema %j',
    (malformed) => {
      expect(mirroredArguments(malformed, { region: 'x' })).toEqual({});
    },
  );
});
