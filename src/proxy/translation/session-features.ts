import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { hasOwnSessions } from '../../connections/connection.js';
import type { ServerDescription } from '../../upstreams/contract/upstream.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { sessionCapabilities } from '../protocol/protocol-eras.js';

/** What a client of the legacy era can use in a session that exists only in this service, in addition to requests. */
export function sessionFeatures(
  { capabilities, isModern }: ServerDescription,
  caller: ProxyCaller,
): Pick<ServerCapabilities, 'tools' | 'prompts' | 'resources' | 'logging'> {
  const isPermitted = caller.holdsAll || caller.mayCall('resources');
  return sessionCapabilities(capabilities, {
    canListen: caller.holdsAny,
    // A kind of upstream that a module has added can only send the requests of its transport.
    canSubscribe: isPermitted && (!isModern || hasOwnSessions(caller.connection)),
    getsLog: caller.getsLog,
  });
}
