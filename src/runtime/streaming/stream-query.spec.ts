import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../core/domain-error.js';
import { NOTHING_READ } from './run-frames.js';
import { parseStreamQuery } from './stream-query.js';

const TASK = '0198f0a0-0000-7000-8000-000000000001';
const OTHER = '0198f0a0-0000-7000-8000-000000000002';

describe('stream queries', () => {
  it('starts with the current run by default', () => {
    expect(parseStreamQuery({}, undefined)).toEqual({
      taskId: undefined,
      after: NOTHING_READ,
      follow: false,
      idle204: false,
    });
  });

  it('reads flags, taskId and position', () => {
    expect(parseStreamQuery({ taskId: TASK, follow: 'true', idle: '204' }, `${TASK}:17.2.k3y.1`)).toEqual({
      taskId: TASK,
      after: { n: 17, step: 2, epoch: 'k3y', round: 1, isLast: false },
      follow: true,
      idle204: true,
    });
  });

  it.each([
    [{ taskId: 'x' }, undefined],
    [{ taskId: [TASK, TASK] }, undefined],
    [{}, 'x'],
    [{}, `${TASK}`],
    [{}, `${TASK}:17`],
    [{}, `${TASK}:17.2.k3y`],
    [{}, `${TASK}:0.0.k3y.0`],
    [{}, `${TASK}:-1.0.k3y.0`],
    [{}, `${TASK}:01.0.k3y.0`],
    [{}, `${TASK}:1e3.0.k3y.0`],
    [{}, `${TASK}:12345678901.0.k3y.0`],
    [{}, `${TASK}:1.0.k3y.0:2`],
    [{ taskId: OTHER }, `${TASK}:1.0.k3y.0`],
    [{ follow: 'yes' }, undefined],
    [{ idle: '200' }, undefined],
  ])('refuses %j with Last-Event-ID %s', (query, lastEventId) => {
    expect(() => parseStreamQuery(query, lastEventId)).toThrow(DomainError);
  });
});
