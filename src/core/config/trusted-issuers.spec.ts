import { describe, expect, it } from '@jest/globals';
import { ISSUER_ALGORITHMS, parseTrustedIssuers } from './trusted-issuers.js';

const ENTRY = { issuer: 'https://id.example.com', audience: 'signalbox' };

describe('TRUSTED_ISSUERS', () => {
  it('has defaults for algorithms and the claim, and lets no provider vouch for people to clients', () => {
    expect(parseTrustedIssuers(JSON.stringify([ENTRY]))).toEqual([
      { ...ENTRY, algorithms: ISSUER_ALGORITHMS, emailClaim: 'email', idJag: false },
    ]);
  });

  it('takes them from the entry', () => {
    const entry = {
      ...ENTRY,
      issuer: 'http://localhost:8080/realms/one',
      algorithms: ['ES256'],
      email_claim: 'upn',
      id_jag: true,
    };
    expect(parseTrustedIssuers(JSON.stringify([entry]))).toEqual([
      { issuer: entry.issuer, audience: ENTRY.audience, algorithms: ['ES256'], emailClaim: 'upn', idJag: true },
    ]);
  });

  it.each([
    ['TRUSTED_ISSUERS must be a JSON list', 'https://id.example.com'],
    ['TRUSTED_ISSUERS must be a JSON list', JSON.stringify(ENTRY)],
    ['TRUSTED_ISSUERS[0] must be an object', '[1]'],
    ['TRUSTED_ISSUERS[0].issuer must be an https URL', JSON.stringify([{ ...ENTRY, issuer: 'http://id.example.com' }])],
    [
      'TRUSTED_ISSUERS[0].issuer must be an https URL',
      JSON.stringify([{ ...ENTRY, issuer: 'https://id.example.com?a' }]),
    ],
    ['TRUSTED_ISSUERS[0].audience must be', JSON.stringify([{ issuer: ENTRY.issuer }])],
    ['TRUSTED_ISSUERS[0].algorithms must be', JSON.stringify([{ ...ENTRY, algorithms: ['HS256'] }])],
    ['TRUSTED_ISSUERS[0].algorithms must be', JSON.stringify([{ ...ENTRY, algorithms: ['none'] }])],
    ['TRUSTED_ISSUERS[0].algorithms must be', JSON.stringify([{ ...ENTRY, algorithms: [] }])],
    ['TRUSTED_ISSUERS[0].id_jag must be', JSON.stringify([{ ...ENTRY, id_jag: 'yes' }])],
    ['TRUSTED_ISSUERS[0].email_claim must be', JSON.stringify([{ ...ENTRY, email_claim: '' }])],
    ['TRUSTED_ISSUERS[0] has the unknown property jwks', JSON.stringify([{ ...ENTRY, jwks: {} }])],
    ['TRUSTED_ISSUERS contains an issuer twice', JSON.stringify([ENTRY, ENTRY])],
  ])('is refused with a sentence: %s', (message, text) => {
    expect(() => parseTrustedIssuers(text)).toThrow(message);
  });
});
