import { InsecureTokenEndpointError } from '@modelcontextprotocol/client';
import { AddressRefusedError } from '../../platform/net/address-policy.js';
import { AnswerRefusedError } from '../../platform/net/bounded-fetch.js';

/** Why an authorization server, or an upstream's metadata, cannot be used. The message is a sentence for people. */
export class AuthorizationServerFault extends Error {
  override readonly name = 'AuthorizationServerFault';
}

/**
 * Why a request to an authorization server was not made or its answer not taken, as a sentence for people without text
 * of the server; undefined for a reason that can pass.
 */
export function faultOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  const refused = [error, cause].find((one) => one instanceof AddressRefusedError);
  if (refused !== undefined) return refused.message;
  if (error instanceof AuthorizationServerFault || error instanceof AnswerRefusedError) return error.message;
  if (error instanceof InsecureTokenEndpointError) {
    return 'The token endpoint of the authorization server is not secure.';
  }
  return undefined;
}

/** @throws AuthorizationServerFault for a token that is not a bearer token (RFC 6750) */
export function requireBearer({ token_type: type }: { readonly token_type: string }): void {
  if (type.toLowerCase() !== 'bearer') {
    throw new AuthorizationServerFault('The authorization server issued a token that is not a bearer token.');
  }
}

/** The error code of an authorization server, which is another party's text. */
export function nameOf(code: string): string {
  return /^[\w.-]{1,64}$/.test(code) ? code : 'an error';
}
