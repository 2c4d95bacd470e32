import { randomUUID } from 'node:crypto';
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import { SignJWT } from 'jose';
import { parsePrivateKey } from '../../private-key.js';
import { AuthorizationServerFault } from '../authorization-server-fault.js';

const LIFETIME = '5 minutes';

/** This service as a client at the authorization server of an upstream. Secret: never log it. */
export type UpstreamClient = OAuthClientInformationMixed & {
  /** In place of a secret. */
  readonly private_key?: string;
};

/** What counts here of an authorization server's metadata (RFC 8414). */
interface AssertionAudience {
  readonly issuer: string;
  readonly token_endpoint_auth_methods_supported?: string[] | undefined;
  readonly token_endpoint_auth_signing_alg_values_supported?: string[] | undefined;
}

/**
 * The assertion with which a client that has a private key authenticates at an authorization server (`private_key_jwt`,
 * RFC 7523). Undefined for other clients.
 * @throws AuthorizationServerFault if the server takes no such assertion
 */
export async function clientAssertionFor(
  { client_id: id, private_key: text }: UpstreamClient,
  {
    issuer,
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: supported,
  }: AssertionAudience,
): Promise<string | undefined> {
  if (text === undefined) return undefined;
  const privateKey = parsePrivateKey(text);
  if (privateKey === undefined) throw new AuthorizationServerFault('The stored auth.private_key cannot be used.');
  const { key, kid, algorithms } = privateKey;
  const alg = algorithms.find((one) => supported === undefined || supported.includes(one));
  if (alg === undefined || methods?.includes('private_key_jwt') === false) {
    throw new AuthorizationServerFault(
      'The authorization server of the upstream takes no signatures of auth.private_key (private_key_jwt).',
    );
  }
  return new SignJWT()
    .setProtectedHeader({ alg, typ: 'JWT', ...(kid !== undefined && { kid }) })
    .setIssuer(id)
    .setSubject(id)
    .setAudience(issuer)
    .setIssuedAt()
    .setExpirationTime(LIFETIME)
    .setJti(randomUUID())
    .sign(key);
}
