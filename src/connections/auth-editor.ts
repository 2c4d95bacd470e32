import { Injectable } from '@nestjs/common';
import { AppConfig } from '../core/config/app-config.js';
import { type DomainError, faultAt } from '../core/domain-error.js';
import {
  type ConnectionAuthInput,
  type ConnectionCreateData,
  type ConnectionUpdateData,
  MASK,
} from './connection.dto.js';
import type { MachineCredential } from './connection.js';
import type { ConnectionEntity } from './connection.entity.js';
import type { ConnectionColumns } from './connection.repository.js';
import { ConnectionSecrets } from './connection-secrets.js';
import { nothingStored } from './kept-secrets.js';
import { parsePrivateKey } from './private-key.js';

type Data = Pick<ConnectionCreateData & ConnectionUpdateData, 'auth' | 'connection_token'>;
type Stored = Pick<ConnectionEntity, 'oauth' | 'oauthClientSecret' | 'connectionToken'>;

const UNUSABLE_KEY = 'Send a private key in PEM or as a JWK: RSA of 2048 to 8192 bits, P-256, P-384, P-521 or Ed25519.';
const NOTHING: Stored = { oauth: null, oauthClientSecret: null, connectionToken: null };

/** Turns `auth` of an HTTP connection into columns. */
@Injectable()
export class AuthEditor {
  constructor(
    private readonly secrets: ConnectionSecrets,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param stored the connection before the update; undefined for a new one
   * @throws DomainError `invalid_request`
   */
  columns(id: string, stored: Stored = NOTHING, { auth, connection_token: token }: Data): ConnectionColumns {
    if (auth === undefined) {
      if (stored.oauth !== null && token != null) {
        throw faulty('connection_token', 'token_unused', 'A connection with OAuth has no stored token.');
      }
      return {};
    }
    if (auth.type !== 'none' && auth.type !== 'token') {
      if (token != null)
        throw faulty('connection_token', 'token_unused', `auth.type ${auth.type} has no stored token.`);
      if (auth.type === 'client_credentials') return this.machineColumns(id, stored, auth);
      refuseKey(auth);
      if (auth.type === 'enterprise') this.requireEnterprise(auth);
      return this.oauthColumns(id, stored, auth);
    }
    refuseKey(auth);
    refuseOauthProperties(auth);
    const without = { oauth: null, oauthClientSecret: null };
    if (auth.type === 'token') {
      const isStored = token === undefined && stored.connectionToken !== null;
      if (token != null || isStored) return without;
      throw faulty('connection_token', 'required', 'auth.type token requires this property.');
    }
    if (token != null) throw faulty('connection_token', 'token_unused', 'auth.type none has no token; use token.');
    return { ...without, connectionToken: null };
  }

  private oauthColumns(
    id: string,
    stored: Stored,
    {
      type,
      account = 'connection',
      scope = null,
      client_id: clientId = null,
      client_secret: secret = null,
    }: ConnectionAuthInput,
  ): ConnectionColumns {
    if (secret !== null && clientId === null) {
      throw faulty('auth.client_id', 'required', 'A client secret requires the id of its client.');
    }
    return {
      connectionToken: null,
      oauth:
        type === 'enterprise'
          ? { isEnterprise: true, account: 'member', scope, clientId }
          : { account, scope, clientId },
      oauthClientSecret: this.sealedSecret(id, stored, secret, 'client_secret'),
    };
  }

  private machineColumns(id: string, stored: Stored, auth: ConnectionAuthInput): ConnectionColumns {
    const { account, scope = null, client_id: clientId, client_secret: secret, private_key: key } = auth;
    if (account === 'member') throw faulty('auth.account', 'not_of_type', 'The account is that of the client.');
    if (clientId == null) {
      throw faulty('auth.client_id', 'required', 'auth.type client_credentials requires this property.');
    }
    if ((secret == null) === (key == null)) {
      throw faulty('auth.client_secret', 'required', 'Send either client_secret or private_key.');
    }
    if (key != null && key !== MASK && parsePrivateKey(key) === undefined) {
      throw faulty('auth.private_key', 'unusable_key', UNUSABLE_KEY);
    }
    const machine = key == null ? 'client_secret' : 'private_key';
    return {
      connectionToken: null,
      oauth: { machine, account: 'connection', scope, clientId },
      oauthClientSecret: this.sealedSecret(id, stored, key ?? secret ?? null, machine),
    };
  }

  private requireEnterprise({ account, client_id: id, client_secret: secret }: ConnectionAuthInput): void {
    if (this.config.settings.oidc === undefined) {
      throw faulty('auth.type', 'unavailable', 'auth.type enterprise requires that people sign in with OIDC_ISSUER.');
    }
    if (account === 'connection') {
      throw faulty('auth.account', 'not_of_type', 'With auth.type enterprise, each member has an own account.');
    }
    for (const [name, value] of Object.entries({ client_id: id, client_secret: secret })) {
      if (value == null) throw faulty(`auth.${name}`, 'required', 'auth.type enterprise requires this property.');
    }
  }

  private sealedSecret(
    id: string,
    { oauth, oauthClientSecret: stored }: Stored,
    secret: string | null,
    property: MachineCredential,
  ): string | null {
    if (secret === null) return null;
    if (secret !== MASK) return this.secrets.sealClientSecret(id, secret);
    if (stored === null || (oauth?.machine ?? 'client_secret') !== property)
      throw nothingStored(`data.auth.${property}`);
    return stored;
  }
}

function refuseKey({ type, private_key: key }: ConnectionAuthInput): void {
  if (key != null) throw faulty('auth.private_key', 'not_of_type', `auth.type ${type} does not have this property.`);
}

function refuseOauthProperties({
  type,
  account,
  scope,
  client_id: id,
  client_secret: secret,
}: ConnectionAuthInput): void {
  const others = { account: account === 'connection' ? null : account, scope, client_id: id, client_secret: secret };
  const [name] = Object.entries(others).find(([, value]) => value != null) ?? [];
  if (name !== undefined) throw faulty(`auth.${name}`, 'not_of_type', `auth.type ${type} does not have this property.`);
}

function faulty(property: string, code: string, message: string): DomainError {
  return faultAt(`data.${property}`, code, message);
}
