import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** A key of an issuer. */
interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** An OpenID provider that publishes its metadata and keys. */
export interface IssuerServer {
  readonly issuer: string;
  /** Replaces the published keys; the last one made signs. */
  rotate(alg?: string): Promise<IssuerKey>;
  /** Signs claims with the newest key; `iss`, `aud`, `exp` and `email_verified` are valid unless given. */
  sign(claims: JWTPayload, key?: IssuerKey): Promise<string>;
  readonly key: IssuerKey;
  /** How often the keys were read. */
  readonly reads: number;
  /** Answers the keys' address in another way. */
  respond: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** The issuer that the metadata names. */
  named: string;
  close(): Promise<void>;
}

export const AUDIENCE = 'signalbox-test';

let made = 0;

export async function makeIssuerKey(alg: string): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid: `key-${++made}`, alg, privateKey, publicKey };
}

/** Now, in seconds since the epoch, plus some. */
export function secondsFromNow(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

export async function startIssuer(): Promise<IssuerServer> {
  let key = await makeIssuerKey('ES256');
  let reads = 0;
  const server = createServer((request, response) => {
    const answer = (document: object): void =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
    if (request.url === '/.well-known/openid-configuration') {
      answer({ issuer: state.named, jwks_uri: `${state.issuer}/keys` });
      return;
    }
    reads++;
    if (state.respond !== undefined) return state.respond(request, response);
    void exportJWK(key.publicKey).then((jwk) => answer({ keys: [{ ...jwk, kid: key.kid, alg: key.alg, use: 'sig' }] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: IssuerServer = {
    issuer,
    named: issuer,
    respond: undefined,
    get key() {
      return key;
    },
    get reads() {
      return reads;
    },
    rotate: async (alg = 'ES256') => (key = await makeIssuerKey(alg)),
    sign: (claims, { kid, alg, privateKey } = key) =>
      new SignJWT({ iss: issuer, aud: AUDIENCE, exp: secondsFromNow(300), email_verified: true, ...claims })
        .setProtectedHeader({ alg, kid })
        .sign(privateKey),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return state;
}
