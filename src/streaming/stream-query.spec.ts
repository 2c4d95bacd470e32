import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../common/domain-error.js';
import { parseStreamQuery } from './stream-query.js';

const TASK = '0198f0a0-0000-7000-8000-000000000001';
const OTHER = '0198f0a0-0000-7000-8000-000000000002';

describe('stream queries', () => {
  it('starts with the current run by default', () => {
    expect(parseStreamQuery({}, undefined)).toEqual({ taskId: undefined, after: 0, follow: false, idle204: false });
  });

  it('reads flags, taskId and position', () => {
    expect(parseStreamQuery({ taskId: TASK, follow: 'true', idle: '204' }, `${TASK}:17`)).toEqual({
      taskId: TASK,
      after: 17,
      follow: true,
      idle204: true,
    });
  });

  it.each([
    [{ taskId: 'x' }, undefined],
    [{ taskId: [TASK, TASK] }, undefined],
    [{}, 'x'],
    [{}, `${TASK}`],
    [{}, `${TASK}:-1`],
    [{}, `${TASK}:1e3`],
    [{}, `${TASK}:12345678901`],
    [{ taskId: OTHER }, `${TASK}:1`],
    [{ follow: 'yes' }, undefined],
    [{ idle: '200' }, undefined],
  ])('refuses %j with Last-Event-ID %s', (query, lastEventId) => {
    expect(() => parseStreamQuery(query, lastEventId)).toThrow(DomainError);
  });
});
