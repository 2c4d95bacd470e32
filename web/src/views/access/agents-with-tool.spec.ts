import { describe, expect, it } from '@jest/globals';
import { agentsWithTool } from './agents-with-tool.js';

const agent = (id: string, toolName: string, approval: boolean) => ({
  id,
  title: id,
  status: 'active' as const,
  tool_name: toolName,
  approval,
  public: false,
});

describe('agentsWithTool', () => {
  it('has each agent once, with all names, and asks first only if it does under every name', () => {
    const agents = [
      agent('one', 'read', true),
      agent('two', 'a_read', true),
      agent('two', 'b_read', false),
      agent('three', 'read', true),
      agent('three', 'c_read', true),
    ];
    const found = agentsWithTool({ tool_name: 'read', agents });
    expect(found.map(({ id, naming, approval }) => [id, naming, approval])).toEqual([
      ['one', '', true],
      ['two', 'as a_read, b_read', false],
      ['three', 'as read, c_read', true],
    ]);
  });
});
