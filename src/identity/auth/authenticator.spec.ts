import { describe, expect, it, jest } from '@jest/globals';
import { keptBytes } from '../../../test/support/kept-bytes.js';
import type { ApiKeyRepository } from '../api-keys/api-key.repository.js';
import { ApiKeyVerifier } from '../api-keys/api-key.verifier.js';
import { generateApiKey } from '../../core/api-key-value.js';
import type { CredentialSources } from '../credentials/credential-source.js';
import { Authenticator } from './authenticator.js';

const HEADER_BYTES = 16 * 1024;
const CONNECTIONS = 2_000;

function identifiedBy(source: ApiKeyVerifier, token: string) {
  const key = source.keyOf(token);
  return key === undefined ? undefined : { source, key };
}

describe('Authenticator', () => {
  it.each([
    ['no key', (): string => `Bearer ${'a'.repeat(HEADER_BYTES)}`],
    ['a key after spaces', (): string => `Bearer ${' '.repeat(HEADER_BYTES)}${generateApiKey()}`],
  ])('does not cache a long header for the lifetime of its connection: %s', async (_what, header) => {
    // No key matches.
    const repository = { findForAuthentication: jest.fn(async () => new Map()) };
    const verifier = new ApiKeyVerifier(repository as unknown as ApiKeyRepository);
    const sources = { identify: (token: string) => identifiedBy(verifier, token) };
    const authenticator = new Authenticator(sources as CredentialSources);
    const connections = Array.from({ length: CONNECTIONS }, () => ({}));
    const kept = await keptBytes(async () => {
      for (const connection of connections) {
        // A flat string, as the HTTP parser creates it.
        const received = Buffer.from(header()).toString('latin1');
        await expect(async () => authenticator.authenticate(received, connection)).rejects.toThrow('credential');
      }
    });
    expect(kept).toBeLessThan((connections.length * HEADER_BYTES) / 4);
  });
});
