import { IsBoolean, IsIn, IsISO8601, IsString, IsUUID } from 'class-validator';
import { AnyJson, MayBeNull } from '../../../core/validation/presence.js';

const ENDS = ['answered', 'timed_out', 'cancelled', 'poster_gone', 'ended'] as const;

/** A tool call of a run that waits for somebody's approval. */
export class PendingApprovalItem {
  /** The approval; chunks and stored parts name it `approvalId` and `approval.id`. */
  @IsUUID()
  id: string;

  @IsString()
  tool_call_id: string;

  /** The name of the tool in the agent. */
  @IsString()
  tool_name: string;

  /** The connection that provides the tool. */
  @IsUUID()
  connection_id: string;

  /** Null if the connection was deleted. */
  @MayBeNull()
  @IsString()
  connection_title: string | null;

  /** The host and port of the connection's address; null for programs and deleted connections. */
  @MayBeNull()
  @IsString()
  connection_host: string | null;

  /** The name of the tool at its upstream; null for requests of earlier versions. */
  @MayBeNull()
  @IsString()
  upstream_tool: string | null;

  /** The arguments of the call. */
  @AnyJson()
  input: unknown;

  @IsISO8601()
  requested_at: string;

  /** Without an answer by then, the call is denied. */
  @IsISO8601()
  expires_at: string;
}

/** What was decided about a tool call of a run that is not over. */
export class AnsweredApprovalItem {
  @IsUUID()
  id: string;

  @IsString()
  tool_call_id: string;

  @IsBoolean()
  approved: boolean;

  @MayBeNull()
  @IsString()
  reason: string | null;

  /** By whose hand: everything but `answered` is a denial. */
  @IsIn(ENDS)
  closed_as: (typeof ENDS)[number];
}
