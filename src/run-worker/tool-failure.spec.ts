import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../common/domain-error.js';
import { StorageLostError } from '../common/through-outage.js';
import { UpstreamError, type UpstreamErrorKind } from '../upstreams/contract/upstream-error.js';
import { describeToolFailure, isStorageLost } from './tool-failure.js';

const LISTED = { connectionTitle: 'Left', fault: undefined };
const SILENT = { connectionTitle: 'Left', fault: { connectionId: 'c', title: 'Inner', reason: 'It was down.' } };

describe('what the model is told of a call that failed', () => {
  it.each<[UpstreamErrorKind, boolean]>([
    ['unreachable', true],
    ['unauthorized', true],
    ['refused_address', true],
    ['session_lost', true],
    ['busy', true],
    ['timeout', false],
    ['protocol', false],
    ['cancelled', false],
  ])('names the connection where it is at fault: %s', (kind, isNamed) => {
    const sentence = 'The upstream did this.';
    const told = describeToolFailure(new UpstreamError(kind, sentence), LISTED);
    expect(told).toBe(isNamed ? `The connection "Left" is not available right now: ${sentence}` : sentence);
  });

  it('names what was unavailable before the call', () => {
    const told = describeToolFailure(new UpstreamError('timeout', 'No answer.'), SILENT);
    expect(told).toBe('The connection "Inner" is not available right now: No answer.');
  });

  it('quotes a JSON-RPC error, also of a connection that was down before', () => {
    const rpc = { code: -32000, message: 'No such city.' };
    const told = describeToolFailure(new UpstreamError('rpc', 'The upstream answered with an error:', { rpc }), SILENT);
    expect(told).toBe('The upstream answered with an error: No such city.');
  });

  it.each([
    ['connection_unavailable', true],
    ['not_found', true],
    ['unknown_tool', false],
    ['invalid_arguments', false],
  ] as const)('tells %s', (code, isNamed) => {
    const told = describeToolFailure(new DomainError(code, 'A sentence.'), LISTED);
    expect(told).toBe(isNamed ? 'The connection "Left" is not available right now: A sentence.' : 'A sentence.');
  });

  it('keeps to itself what nobody expected', () => {
    expect(describeToolFailure(new TypeError('secret'), LISTED)).not.toContain('secret');
  });
});

describe('a storage that is away', () => {
  it.each([
    ['by whoever waited for it', new StorageLostError('The storage is unavailable.'), true],
    ['by the audit log', new DomainError('storage_unavailable', 'Please try again.'), true],
    ['by the driver', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), true],
    ['not by an upstream', new UpstreamError('unreachable', 'Connection terminated.'), false],
    ['not by a connection', new DomainError('connection_unavailable', 'The connection is inactive.'), false],
  ])('is reported %s', (_by, error, expected) => {
    expect(isStorageLost(error)).toBe(expected);
  });
});
