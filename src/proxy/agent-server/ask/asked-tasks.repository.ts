import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, Repository } from 'typeorm';
import { AskedTaskEntity } from './asked-task.entity.js';

/** Which runs are tasks of clients of the legacy era, which can list them. */
@Injectable()
export class AskedTasks {
  constructor(@InjectRepository(AskedTaskEntity) private readonly tasks: Repository<AskedTaskEntity>) {}

  async insert(task: AskedTaskEntity): Promise<void> {
    await this.tasks.insert(task);
  }

  /**
   * The newest tasks of a caller, with the newest first.
   * @param before the run that precedes them
   */
  findOwned(
    { agentId, owner }: Pick<AskedTaskEntity, 'agentId' | 'owner'>,
    { before, limit }: { before: string | undefined; limit: number },
  ): Promise<AskedTaskEntity[]> {
    const where = { agentId, owner, ...(before !== undefined && { runId: LessThan(before) }) };
    // Ids of runs are in the order of their creation.
    return this.tasks.find({ where, order: { runId: 'DESC' }, take: limit });
  }
}
