import { IsISO8601, IsString, IsUUID } from 'class-validator';
import { AnyJson } from '../../common/validation/presence.js';

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

  /** The arguments of the call. */
  @AnyJson()
  input: unknown;

  @IsISO8601()
  requested_at: string;

  /** Without an answer by then, the call is denied. */
  @IsISO8601()
  expires_at: string;
}
