import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A private key of the authorization server. The newest one signs; all are published. */
@Entity('oauth_signing_keys')
export class OauthSigningKeyEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** The private key as a JWK, in a vault envelope. */
  @Column('text')
  jwk: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
