import { describe, expect, it } from '@jest/globals';
import { changesBetween, type Observed, snapshotOf } from './change.js';

const AT = '2026-01-01T00:00:00.000Z';

function observed(type: Observed['type'], id: string, status: string, threadId: string | null = null): Observed {
  return { organizationId: 'o', type, id, threadId, status, revision: status };
}

const between = (before: Observed[], after: Observed[]) => changesBetween(snapshotOf(before), snapshotOf(after), AT);

describe('changesBetween', () => {
  it('names what is new or different, and nothing else', () => {
    const before = [observed('run', '1', 'queued', 't'), observed('run', '2', 'running', 't')];
    const after = [
      observed('run', '1', 'running', 't'),
      observed('run', '2', 'running', 't'),
      observed('thread', 't', 'failed'),
    ];
    expect(between(before, after)).toEqual([
      { type: 'run', id: '1', thread_id: 't', status: 'running', at: AT },
      { type: 'thread', id: 't', status: 'failed', at: AT },
    ]);
  });

  it('names what is gone, unless it was over', () => {
    const before = [
      observed('run', '1', 'running', 't'),
      observed('run', '2', 'completed', 't'),
      observed('thread', 't', 'completed'),
      observed('connection', 'c', 'active'),
      observed('approval', 'a', 'requested', 't'),
    ];
    expect(between(before, []).map(({ type, id, status }) => [type, id, status])).toEqual([
      ['run', '1', 'deleted'],
      ['connection', 'c', 'deleted'],
      ['approval', 'a', 'closed'],
    ]);
  });
});
