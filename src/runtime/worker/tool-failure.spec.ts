import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError } from '../../core/retry.js';
import { UpstreamError, type UpstreamErrorKind } from '../../upstreams/contract/upstream-error.js';
import { describeToolFailure, isStorageLost } from './tool-step.js';

const LISTED = { connectionTitle: 'Left', fault: undefined };
const SILENT = { connectionTitle: 'Left', fault: { connectionId: 'c', title: 'Inner', reason: 'It was down.' } };

describe('describeToolFailure', () => {
  it.each<[UpstreamErrorKind, boolean]>([
    ['unreachable', true],
    ['unauthorized', true],
    ['refused_address', true],
    ['session_lost', true],
    ['busy', true],
    ['timeout', false],
    ['protocol', false],
    ['cancelled', false],
  ])('names the connection if it caused the failure: %s', (kind, isNamed) => {
    const sentence = 'The upstream did this.';
    const text = describeToolFailure(new UpstreamError(kind, sentence), LISTED);
    expect(text).toBe(isNamed ? `The connection "Left" is not available right now: ${sentence}` : sentence);
  });

  it('names a connection that was unavailable before the call', () => {
    const text = describeToolFailure(new UpstreamError('timeout', 'No answer.'), SILENT);
    expect(text).toBe('The connection "Inner" is not available right now: No answer.');
  });

  it('quotes a JSON-RPC error, even if the connection was down before', () => {
    const rpc = { code: -32000, message: 'No such city.' };
    const text = describeToolFailure(new UpstreamError('rpc', 'The upstream answered with an error:', { rpc }), SILENT);
    expect(text).toBe('The upstream answered with an error: No such city.');
  });

  it.each([
    ['connection_unavailable', true],
    ['not_found', true],
    ['unknown_tool', false],
    ['invalid_arguments', false],
  ] as const)('describes %s', (code, isNamed) => {
    const text = describeToolFailure(new DomainError(code, 'A sentence.'), LISTED);
    expect(text).toBe(isNamed ? 'The connection "Left" is not available right now: A sentence.' : 'A sentence.');
  });

  it('does not disclose unexpected errors', () => {
    expect(describeToolFailure(new TypeError('secret'), LISTED)).not.toContain('secret');
  });
});

describe('isStorageLost', () => {
  it.each([
    ['true for a lost storage', new StorageLostError('The storage is unavailable.'), true],
    ['true for an error of the audit log', new DomainError('storage_unavailable', 'Please try again.'), true],
    ['true for an error of the driver', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), true],
    ['false for an error of an upstream', new UpstreamError('unreachable', 'Connection terminated.'), false],
    [
      'false for an error of a connection',
      new DomainError('connection_unavailable', 'The connection is inactive.'),
      false,
    ],
  ])('is %s', (_case, error, expected) => {
    expect(isStorageLost(error)).toBe(expected);
  });
});
