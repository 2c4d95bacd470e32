import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, Repository } from 'typeorm';
import { AppConfig } from '../config/app-config.js';
import { DeletesExpired } from '../deletes-expired.js';
import { DeletedNameEntity } from './deleted-name.entity.js';

/** Returns the name of an id; null for null, and for an id whose name is no longer known. */
export type NameOf = (id: string | null) => string | null;

/**
 * Finds what people call the things that records name by id: the name of an API key, the title of a connection, the
 * e-mail address of a user. Also of those that were deleted, for as long as audit records are kept.
 */
@Injectable()
export class Names {
  constructor(
    @InjectRepository(DeletedNameEntity) private readonly deleted: Repository<DeletedNameEntity>,
    private readonly config: AppConfig,
  ) {}

  /** Reads the names of all ids with one query. The caller must be allowed to see the rows that the ids come from. */
  async find(ids: Iterable<string | null>): Promise<NameOf> {
    const wanted = [...new Set(ids)].filter((id) => id !== null);
    const rows = wanted.length === 0 ? [] : await this.read(wanted);
    const names = new Map(rows.map(({ id, name }) => [id, name]));
    return (id) => (id === null ? null : (names.get(id) ?? null));
  }

  /** Forgets the names of what was deleted before the oldest audit record. */
  @DeletesExpired('names')
  async deleteExpired(now: Date): Promise<number> {
    const { affected } = await this.deleted.delete({ deletedAt: LessThan(this.config.auditedSince(now)) });
    return affected ?? 0;
  }

  private read(ids: readonly string[]): Promise<{ id: string; name: string | null }[]> {
    return this.deleted.query(
      `SELECT id, name FROM api_keys WHERE id = ANY($1)
       UNION ALL SELECT id, title FROM connections WHERE id = ANY($1)
       UNION ALL SELECT id, email FROM users WHERE id = ANY($1)
       UNION ALL SELECT id, name FROM deleted_names WHERE id = ANY($1)`,
      [ids],
    );
  }
}
