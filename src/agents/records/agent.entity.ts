import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { SpendLimit } from '../../core/limits.js';
import type { Tier } from '../../core/tier.js';
import {
  DEFAULT_APPROVAL_TIMEOUT_S,
  DEFAULT_ASK_TIMEOUT_S,
  DEFAULT_HISTORY_MESSAGES,
  DEFAULT_HISTORY_TOKENS,
  DEFAULT_MAX_STEPS,
  DEFAULT_TOOL_MODE,
  type ToolMode,
} from './agent.js';
import { MAX_SLUG_LENGTH } from './agent-slug.js';

/** The settings of an agent; its connection of type VIRTUAL has the same id and stores title and status. */
@Entity('agents')
@Index('agents_slug_idx', ['organizationId', 'slug'], { unique: true })
@Index('agents_spend_idx', ['organizationId'], { where: 'spend IS NOT NULL' })
export class AgentEntity {
  @PrimaryColumn('uuid')
  @ForeignKey('connections', { onDelete: 'CASCADE' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  /**
   * Names the agent within its organization. The default is for processes of a version that knows no slugs; TypeORM
   * compares it as written.
   */
  @Column({ type: 'varchar', length: MAX_SLUG_LENGTH, default: () => `('agent-'|| gen_random_uuid())` })
  slug: string;

  @Column({ type: 'text', nullable: true })
  instructions: string | null;

  @Column({ type: 'varchar', length: 16, nullable: true })
  tier: Tier | null;

  @Column('integer', { name: 'max_steps', default: DEFAULT_MAX_STEPS })
  maxSteps: number;

  /** How many earlier messages of the thread a run reads at most. */
  @Column('integer', { name: 'history_max_messages', default: DEFAULT_HISTORY_MESSAGES })
  historyMaxMessages: number;

  /** How many tokens of earlier messages a run reads at most, estimated from their size. */
  @Column('integer', { name: 'history_max_tokens', default: DEFAULT_HISTORY_TOKENS })
  historyMaxTokens: number;

  /** How long somebody can answer a request for an approval, in seconds. */
  @Column('integer', { name: 'approval_timeout', default: DEFAULT_APPROVAL_TIMEOUT_S })
  approvalTimeoutS: number;

  /** Of the model calls of its runs; null: no limit. */
  @Column({ type: 'jsonb', nullable: true })
  spend: SpendLimit | null;

  @Column({ type: 'varchar', length: 8, name: 'tool_mode', default: DEFAULT_TOOL_MODE })
  toolMode: ToolMode;

  /** Tools that need no search, by their names in the agent. */
  @Column({ type: 'jsonb', name: 'pinned_tools', default: [] })
  pinnedTools: string[];

  /** The JSON Schema of its answers, with its members in their order; null if they are free. */
  @Column({ type: 'json', name: 'output_schema', nullable: true })
  outputSchema: object | null;

  /** Whether webhooks include the object that a run has answered. */
  @Column('boolean', { name: 'webhook_output', default: false })
  webhookOutput: boolean;

  /** Whether its MCP endpoint has a tool that runs the agent. */
  @Column('boolean', { name: 'expose_run', default: false })
  exposeRun: boolean;

  /** How long a call of that tool waits for the answer, in seconds. */
  @Column('integer', { name: 'ask_timeout_s', default: DEFAULT_ASK_TIMEOUT_S })
  askTimeoutS: number;
}
