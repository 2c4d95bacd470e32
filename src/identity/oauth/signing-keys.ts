import { generateKeyPair, type JsonWebKey } from 'node:crypto';
import { promisify } from 'node:util';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newId } from '../../core/ids.js';
import { SEALED_COLUMNS } from '../../platform/vault/sealed-columns.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { OauthSigningKeyEntity } from './records/oauth-signing-key.entity.js';

const MODULUS_BITS = 2048;
/** So that processes that start concurrently create a single key. */
const CREATION_LOCK = 0x53424f4b;
/**
 * How many keys are published: the one that signs, and the one before it, which may have signed what is still valid.
 */
const PUBLISHED = 2;

/** A private key with its id, for `jwks` of oidc-provider. */
export type PrivateJwk = JsonWebKey & { kid: string; use: 'sig'; alg: 'RS256' };

/** The keys with which the authorization server signs ID tokens. They are generated when they are first needed. */
@Injectable()
export class SigningKeys {
  constructor(
    @InjectRepository(OauthSigningKeyEntity) private readonly keys: Repository<OauthSigningKeyEntity>,
    private readonly vault: VaultService,
  ) {}

  /** The published keys, the one that signs first. */
  async all(): Promise<readonly PrivateJwk[]> {
    const stored = await this.newest();
    return (stored.length > 0 ? stored : await this.create()).map((key) => this.open(key));
  }

  /** Adds a key that signs from now on, and deletes those that are no longer published. */
  async rotate(): Promise<string> {
    const key = await this.generate();
    await this.keys.insert(key);
    await this.keys.query(
      `DELETE FROM oauth_signing_keys WHERE id NOT IN (
         SELECT id FROM oauth_signing_keys ORDER BY created_at DESC, id DESC LIMIT ${PUBLISHED})`,
    );
    return key.id;
  }

  private newest(): Promise<OauthSigningKeyEntity[]> {
    return this.keys.find({ order: { createdAt: 'DESC', id: 'DESC' }, take: PUBLISHED });
  }

  private create(): Promise<OauthSigningKeyEntity[]> {
    return this.keys.manager.transaction(async (manager) => {
      await manager.query('SELECT pg_advisory_xact_lock($1)', [CREATION_LOCK]);
      const existing = await this.newest();
      if (existing.length > 0) return existing;
      await manager.insert(OauthSigningKeyEntity, await this.generate());
      return manager.find(OauthSigningKeyEntity);
    });
  }

  private async generate(): Promise<Pick<OauthSigningKeyEntity, 'id' | 'jwk'>> {
    const id = newId();
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS });
    const jwk = JSON.stringify(privateKey.export({ format: 'jwk' }));
    return { id, jwk: this.vault.seal(jwk, SEALED_COLUMNS.oauthSigningKey.contextOf(id)) };
  }

  private open({ id, jwk }: OauthSigningKeyEntity): PrivateJwk {
    const opened = this.vault.open(jwk, SEALED_COLUMNS.oauthSigningKey.contextOf(id));
    return { ...(JSON.parse(opened) as JsonWebKey), kid: id, use: 'sig', alg: 'RS256' };
  }
}
