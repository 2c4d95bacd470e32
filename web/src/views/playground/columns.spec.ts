import { describe, expect, it } from '@jest/globals';
import { columnsOf, searchOf } from './columns.js';

describe('columnsOf', () => {
  it('reads what searchOf writes, in its order', () => {
    const columns = [
      { agentId: 'a', threadId: 't1', tier: 'fast', temperature: undefined },
      { agentId: 'b', threadId: undefined, tier: undefined, temperature: '0.5' },
      { agentId: 'a', threadId: 't3', tier: 'smart', temperature: undefined },
    ];
    expect(columnsOf(searchOf(columns))).toEqual(columns);
    expect(columnsOf(searchOf(columns.slice(1)))).toEqual(columns.slice(1));
  });

  it('ends with the first column that has no agent', () => {
    expect(columnsOf({ agent: 'a', agent3: 'c', thread2: 't' })).toHaveLength(1);
    expect(columnsOf({ agent2: 'b' })).toEqual([]);
  });

  it('takes the columns that are gone out of the address', () => {
    expect(searchOf([{ agentId: 'a' }])).toMatchObject({
      agent: 'a',
      agent2: undefined,
      thread2: undefined,
      trace2: undefined,
    });
  });
});
