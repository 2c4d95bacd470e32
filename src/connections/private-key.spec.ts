import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { parsePrivateKey } from './private-key.js';

const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const { privateKey: ed } = generateKeyPairSync('ed25519');

describe('parsePrivateKey', () => {
  it.each([
    ['PKCS #1', rsa.export({ type: 'pkcs1', format: 'pem' }), 'RS256'],
    ['PKCS #8', rsa.export({ type: 'pkcs8', format: 'pem' }), 'RS256'],
    ['SEC 1', ec.export({ type: 'sec1', format: 'pem' }), 'ES384'],
    ['Ed25519', ed.export({ type: 'pkcs8', format: 'pem' }), 'EdDSA'],
  ])('reads %s and prefers the common algorithm', (_form, text, algorithm) => {
    const parsed = parsePrivateKey(String(text));
    expect(parsed?.algorithms[0]).toBe(algorithm);
    expect(parsed?.kid).toBeUndefined();
  });

  it('signs with the algorithm of a JWK alone, and names its kid', () => {
    const jwk = { ...rsa.export({ format: 'jwk' }), alg: 'PS512', kid: 'one' };
    expect(parsePrivateKey(`\n ${JSON.stringify(jwk)}`)).toMatchObject({ algorithms: ['PS512'], kid: 'one' });
  });

  it.each([
    ['a JWK whose algorithm is for other keys', JSON.stringify({ ...ec.export({ format: 'jwk' }), alg: 'ES256' })],
    ['a JWK of numbers', '{"kty":1}'],
    ['a list', '[]'],
    ['an encrypted key', ec.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })],
    ['nothing', ''],
  ])('reads no key from %s', (_what, text) => {
    expect(parsePrivateKey(String(text))).toBeUndefined();
  });
});
