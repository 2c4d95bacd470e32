import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { LongReads } from '../../platform/database/long-reads.js';
import type { AgentContent } from './agent.dto.js';
import { AgentVersionEntity } from './agent-version.entity.js';

/** How many versions of an agent are kept. */
const MAX_VERSIONS = 100;

/** Who made a version, and from which earlier one. */
export interface VersionAuthor {
  readonly userId: string | null;
  readonly apiKeyId: string | null;
  readonly restoredFrom?: number;
}

/** Of a change that was not made to the agent itself, such as the deletion of one of its connections. */
const NOBODY: VersionAuthor = { userId: null, apiKeyId: null };

/** A version without its content. */
interface VersionFacts extends Omit<AgentVersionEntity, 'content' | 'agentId'> {
  /** The properties that differ from the version before; empty for the oldest one. */
  readonly changed: string[];
}

// A change that leaves the content as it is makes no version, and keeps the oldest one.
const RECORD = `
  WITH latest AS (SELECT number, content FROM agent_versions WHERE agent_id = $1 ORDER BY number DESC LIMIT 1),
  outdated AS (
    DELETE FROM agent_versions USING latest
     WHERE agent_id = $1 AND agent_versions.number <= latest.number + 1 - $6::integer
       AND latest.content::text <> $2::text
  )
  INSERT INTO agent_versions (agent_id, number, content, user_id, api_key_id, restored_from)
  SELECT $1, coalesce((SELECT number FROM latest), 0) + 1, $2::text::json, $3::uuid, $4::uuid, $5::integer
   WHERE NOT EXISTS (SELECT FROM latest WHERE content::text = $2::text)`;

// `before -> key` would parse the whole content for each property.
const LIST = `
  SELECT number, user_id AS "userId", api_key_id AS "apiKeyId", restored_from AS "restoredFrom",
         created_at AS "createdAt",
         CASE WHEN before IS NULL THEN '{}'::text[] ELSE ARRAY(
           SELECT key FROM json_each(content) WITH ORDINALITY AS member (key, value, place)
             LEFT JOIN json_each(before) AS earlier (key, value) USING (key)
            WHERE member.value::text IS DISTINCT FROM earlier.value::text
            ORDER BY member.place
         ) END AS changed
    FROM (SELECT *, lag(content) OVER (ORDER BY number) AS before FROM agent_versions WHERE agent_id = $1) AS versions
   ORDER BY number DESC`;

/** Versions of agents. The caller has checked that the agent belongs to the organization. */
@Injectable()
export class AgentVersionsRepository {
  constructor(
    @InjectRepository(AgentVersionEntity) private readonly versions: Repository<AgentVersionEntity>,
    private readonly reads: LongReads,
  ) {}

  /** The transaction of the manager holds the agent's row, so that numbers follow one another. */
  async record(
    manager: EntityManager,
    agentId: string,
    content: AgentContent,
    { userId, apiKeyId, restoredFrom }: VersionAuthor = NOBODY,
  ): Promise<void> {
    const values = [agentId, JSON.stringify(content), userId, apiKeyId, restoredFrom ?? null, MAX_VERSIONS];
    await manager.query(RECORD, values);
  }

  /** Newest first. Compares contents of many megabytes. @throws DomainError as `LongReads.read` */
  list(organizationId: string, agentId: string, callerLeft: AbortSignal): Promise<VersionFacts[]> {
    const read = (manager: EntityManager): Promise<VersionFacts[]> => manager.query(LIST, [agentId]);
    return this.reads.read(organizationId, callerLeft, read, 'page');
  }

  find(agentId: string, number: number): Promise<AgentVersionEntity | null> {
    return this.versions.findOneBy({ agentId, number });
  }
}
