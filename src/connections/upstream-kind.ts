import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common';
import type { Transport } from '@modelcontextprotocol/client';
import { CONNECTION_TYPES, type ConnectionCredentials, CREATABLE_TYPES } from './connection.js';

/** A connection's description of its upstream. Contains decrypted secrets: never log it. */
export interface UpstreamAccess extends ConnectionCredentials {
  readonly connectionId: string;
  readonly organizationId: string;
  /** `connection_url`; null if the connection stores none. */
  readonly url: string | null;
  /** The time limit for one tool call, in milliseconds. */
  readonly timeoutMs: number;
}

/** A kind of upstream: how its MCP server is reached. */
export interface UpstreamConnector {
  /** True if connections of this kind require a URL. */
  readonly needsUrl?: boolean;
  /**
   * Creates an MCP SDK transport that has not been started. Called once for each session: clients, threads, and callers
   * have their own, unless the connection says `shared_state`, and a new one follows when it has closed. The transport
   * is closed when the connection is edited or idle, or when its test ends.
   */
  openTransport(access: UpstreamAccess): Transport | Promise<Transport>;
}

export const UPSTREAM_KIND = 'signalbox:upstream-kind';

/**
 * Registers a class that implements `UpstreamConnector` as a kind of upstream. Callers send its name as
 * `connection_type`. Names are unique in an application; a duplicate stops the start.
 * @param name up to 16 upper-case letters, digits and underscores
 */
export function UpstreamKind(name: string): ClassDecorator {
  // Schemas and validation rules are created once per process from the lists of names.
  if (!CONNECTION_TYPES.includes(name)) {
    CONNECTION_TYPES.push(name);
    CREATABLE_TYPES.push(name);
  }
  return applyDecorators(Injectable(), SetMetadata(UPSTREAM_KIND, name));
}
