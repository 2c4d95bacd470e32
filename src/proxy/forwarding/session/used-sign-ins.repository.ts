import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { batchDeletion } from '../../../platform/database/delete-batch.js';
import { UsedSignInEntity } from './used-sign-in.entity.js';

/** How many expired rows a use deletes at most. */
const SWEPT = 100;

/** Which states were used, in all processes. */
@Injectable()
export class UsedSignIns {
  constructor(@InjectRepository(UsedSignInEntity) private readonly used: Repository<UsedSignInEntity>) {}

  /**
   * Notes the use of a state; false if it was used before.
   * @param lifetimeMs after which no state with this id is valid
   */
  async use(id: string, lifetimeMs: number): Promise<boolean> {
    const rows: object[] = await this.used.query(
      `WITH expired AS (${batchDeletion('used_sign_ins', 'expires_at < now() AND id <> $1', SWEPT)})
       INSERT INTO used_sign_ins (id, expires_at) VALUES ($1, now() + $2 * interval '1 millisecond')
       ON CONFLICT (id) DO NOTHING RETURNING id`,
      [id, lifetimeMs],
    );
    return rows.length > 0;
  }
}
