import { IsBoolean, IsInt, IsString } from 'class-validator';
import { MayBeAbsent, MayBeNull } from '../common/validation/presence.js';

/** What CONNECTION_TEST found. */
export class ConnectionTested {
  @IsBoolean()
  ok: boolean;

  /** Milliseconds until it was known. */
  @IsInt()
  latency_ms: number;

  /** How many tools were listed. */
  @IsInt()
  tools: number;

  /** The negotiated MCP revision; null for an agent, and when it did not come to that. */
  @MayBeNull()
  @IsString()
  protocol_version: string | null;

  /** What is wrong, in a sentence. */
  @MayBeAbsent()
  @IsString()
  error?: string;
}
