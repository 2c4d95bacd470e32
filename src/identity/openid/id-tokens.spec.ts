import { describe, expect, it, jest } from '@jest/globals';
import type { IdTokenRepository } from './id-token.repository.js';
import { IdTokens } from './id-tokens.js';
import type { IdentityAssertions } from './identity-assertions.js';

const EXPIRED = { id: 'sign-in', tokens: { idToken: 'old', refreshToken: 'used', expiresAt: 0 }, isExpired: true };
const ANOTHER = { idToken: 'new', refreshToken: 'rotated', expiresAt: 1 };

function idTokensWith(overrides: Partial<IdTokenRepository>) {
  const repository = {
    findLatest: async () => EXPIRED,
    lease: async () => ({ ...EXPIRED, leaseUntil: new Date() }),
    endLease: jest.fn(async () => undefined),
    ...overrides,
  };
  const assertions = { refresh: jest.fn(async () => ANOTHER) };
  const idTokens = new IdTokens(
    repository as Partial<IdTokenRepository> as IdTokenRepository,
    assertions as Partial<IdentityAssertions> as IdentityAssertions,
  );
  return { idTokens, repository, assertions };
}

describe('IdTokens', () => {
  it('keeps the lease on a refresh token that was used if the new one cannot be stored', async () => {
    const { idTokens, repository } = idTokensWith({ replace: () => Promise.reject(new Error('no database')) });
    await expect(idTokens.current('ada')).rejects.toThrow('no database');
    expect(repository.endLease).not.toHaveBeenCalled();
  });

  it('looks again for the ID token when another process has taken the lease over', async () => {
    const found = [EXPIRED, { ...EXPIRED, tokens: { ...ANOTHER, idToken: 'of another process' }, isExpired: false }];
    const { idTokens, assertions } = idTokensWith({
      findLatest: async () => found.shift(),
      replace: async () => false,
    });
    expect(await idTokens.current('ada')).toEqual({ id: 'sign-in', value: 'of another process' });
    expect(assertions.refresh).toHaveBeenCalledTimes(1);
  });
});
