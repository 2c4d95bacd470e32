import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common';
import type { Transport } from '@modelcontextprotocol/client';
import { CONNECTION_TYPES, type ConnectionCredentials, CREATABLE_TYPES } from './connection.js';

/** What a connection says of its upstream. It holds decrypted secrets: never log it. */
export interface UpstreamAccess extends ConnectionCredentials {
  readonly connectionId: string;
  readonly organizationId: string;
  /** `connection_url`; null if the connection stores none. */
  readonly url: string | null;
  /** The longest time for one tool call, in milliseconds. */
  readonly timeoutMs: number;
}

/** A kind of upstream: how its MCP server is reached. */
export interface UpstreamConnector {
  /** Does a connection of this kind have to store a URL? */
  readonly needsUrl?: boolean;
  /**
   * Makes a transport of the MCP SDK that has not been started. Called once for each session: one serves all callers of a
   * connection, and another one follows when it has closed. It is closed when the connection is edited, idle, or tested.
   */
  openTransport(access: UpstreamAccess): Transport | Promise<Transport>;
}

export const UPSTREAM_KIND = 'signalbox:upstream-kind';

/**
 * Makes a class that implements `UpstreamConnector` a kind of upstream, under a name that callers send as `connection_type`.
 * Names are unique in an application, or its start fails.
 * @param name up to 16 upper-case letters, digits and underscores
 */
export function UpstreamKind(name: string): ClassDecorator {
  // Schemas and rules of inputs are made once in a process, from the lists of names.
  if (!CONNECTION_TYPES.includes(name)) {
    CONNECTION_TYPES.push(name);
    CREATABLE_TYPES.push(name);
  }
  return applyDecorators(Injectable(), SetMetadata(UPSTREAM_KIND, name));
}
