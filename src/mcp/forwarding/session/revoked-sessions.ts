import { Injectable } from '@nestjs/common';
import { OpenCredentials } from '../../../credentials/open-credentials.js';
import { StdioSessions } from '../../../upstreams/stdio/stdio-sessions.js';

/** Stops the programs in a caller's sessions when its credential is revoked or expires. */
@Injectable()
export class RevokedSessions {
  constructor(sessions: StdioSessions, credentials: OpenCredentials) {
    sessions.endWith((_target, caller, end) =>
      caller === undefined ? () => undefined : credentials.watchValidity(caller, end),
    );
  }
}
