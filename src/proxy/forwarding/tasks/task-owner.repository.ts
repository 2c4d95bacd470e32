import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { batchDeletion, deletionOf } from '../../../platform/database/delete-batch.js';
import { TaskOwnerEntity } from './task-owner.entity.js';

/** One caller at one connection. */
export interface TaskHolder {
  readonly connectionId: string;
  readonly owner: string;
}

/** How many tasks of one caller are kept for one connection, newest first. */
const MAX_TASKS = 500;
const KEPT_DAYS = 7;
/** How many expired rows an insert deletes at most. */
const SWEPT = 100;

/** Tasks of an owner on a connection that are too many, without those that have expired. */
const SURPLUS = `
  SELECT ctid FROM (
    SELECT ctid, expires_at FROM mcp_tasks WHERE connection_id = $1 AND owner = $2 AND digest <> $3
     ORDER BY expires_at DESC OFFSET ${MAX_TASKS - 1}) oldest
   WHERE expires_at >= now()`;

@Injectable()
export class TaskOwnerRepository {
  constructor(@InjectRepository(TaskOwnerEntity) private readonly tasks: Repository<TaskOwnerEntity>) {}

  /** Tool names by task digest. */
  async findAll({ connectionId, owner }: TaskHolder): Promise<Map<string, string>> {
    const rows: { digest: string; tool: string }[] = await this.tasks.query(
      `SELECT digest, tool_name AS tool FROM mcp_tasks
        WHERE connection_id = $1 AND owner = $2 AND expires_at > now() ORDER BY expires_at DESC LIMIT $3`,
      [connectionId, owner, MAX_TASKS],
    );
    return new Map(rows.map(({ digest, tool }) => [digest, tool]));
  }

  /** Stores the task and deletes surplus ones. Does nothing if the connection has been deleted. */
  async insertOwner({ connectionId, owner }: TaskHolder, digest: string, tool: string): Promise<void> {
    await this.tasks.query(
      `WITH expired AS (${batchDeletion('mcp_tasks', 'expires_at < now() AND digest <> $3', SWEPT)}),
       surplus AS (${deletionOf('mcp_tasks', SURPLUS)})
       INSERT INTO mcp_tasks (connection_id, owner, digest, tool_name, expires_at)
       SELECT id, $2, $3, $4, now() + interval '${KEPT_DAYS} days' FROM connections WHERE id = $1
       ON CONFLICT (connection_id, owner, digest) DO UPDATE
         SET tool_name = excluded.tool_name, expires_at = excluded.expires_at`,
      [connectionId, owner, digest, tool],
    );
  }
}
