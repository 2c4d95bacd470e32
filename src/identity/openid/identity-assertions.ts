import { Injectable } from '@nestjs/common';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { ERRORS_OF_SERVERS } from '../../core/oauth-errors.js';
import { issuedTokensOf, type IssuedTokens, OpenIdClient } from './openid-client.js';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';

interface AssertionPurpose {
  /** The issuer of the authorization server that it is presented to. */
  readonly audience: string;
  /** The MCP endpoint. */
  readonly resource: string;
  readonly scope: string | undefined;
}

/** The issuer has refused a request because of the person that it is for. */
export class IssuerRefusal extends Error {
  override readonly name = 'IssuerRefusal';

  /** @param code the error code of RFC 6749 §5.2 or RFC 8693 §2.2.2 */
  constructor(readonly code: string) {
    super(`The issuer answered: ${code}`);
  }
}

/**
 * Asks the issuer at `OIDC_ISSUER` to assert people to other authorization servers
 * (draft-ietf-oauth-identity-assertion-authz-grant, "ID-JAG"). Its addresses are those of the operator's setting, as
 * for sign-ins.
 */
@Injectable()
export class IdentityAssertions {
  constructor(private readonly client: OpenIdClient) {}

  /** An assertion about the person of the ID token (RFC 8693). @throws IssuerRefusal; any other error can pass */
  async request(idToken: string, { audience, resource, scope }: AssertionPurpose): Promise<string> {
    const answer = await this.ask((configuration) =>
      openid.genericGrantRequest(configuration, TOKEN_EXCHANGE, {
        requested_token_type: ID_JAG,
        audience,
        resource,
        ...(scope !== undefined && { scope }),
        subject_token: idToken,
        subject_token_type: ID_TOKEN,
      }),
    );
    if (answer['issued_token_type'] !== ID_JAG) throw new Error('The issuer issued a token of another type.');
    return answer.access_token;
  }

  /** Another ID token of the same person. @throws IssuerRefusal; any other error can pass */
  async refresh({ idToken, refreshToken = '' }: IssuedTokens): Promise<IssuedTokens> {
    const answer = await this.ask((configuration) => openid.refreshTokenGrant(configuration, refreshToken));
    const issued = issuedTokensOf(answer);
    // Without an ID token of the person, the refresh token is of no use.
    if (issued === undefined || issued.claims.sub !== decodeJwt(idToken).sub) throw new IssuerRefusal('invalid_grant');
    return { ...issued.tokens, refreshToken: issued.tokens.refreshToken ?? refreshToken };
  }

  private async ask<T>(send: (configuration: openid.Configuration) => Promise<T>): Promise<T> {
    try {
      return await send(await this.client.configuration());
    } catch (error) {
      if (error instanceof openid.ResponseBodyError && concernsPerson(error)) throw new IssuerRefusal(error.error);
      throw error;
    }
  }
}

/** False for an issuer that refuses everybody for now, or that does not accept this service as its client. */
function concernsPerson({ error, status }: openid.ResponseBodyError): boolean {
  return status !== 429 && error !== 'invalid_client' && !ERRORS_OF_SERVERS.has(error);
}
