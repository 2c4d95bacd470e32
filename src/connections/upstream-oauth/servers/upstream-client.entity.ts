import { Column, CreateDateColumn, Entity, ForeignKey, PrimaryColumn, Unique } from 'typeorm';

/** This service as a client that it registered at the authorization server of a connection's upstream. */
@Entity('upstream_clients')
@Unique(['connectionId', 'issuer', 'redirectUri'])
export class UpstreamClientEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'connection_id' })
  @ForeignKey('connections', { onDelete: 'CASCADE' })
  connectionId: string;

  @Column({ type: 'varchar', length: 2048 })
  issuer: string;

  @Column({ type: 'varchar', name: 'redirect_uri', length: 2048 })
  redirectUri: string;

  /** The client information of RFC 7591 as JSON text, sealed by the vault. */
  @Column('text')
  client: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
