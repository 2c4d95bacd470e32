import { Injectable } from '@nestjs/common';
import { OpenCredentials } from '../../../api-keys/open-credentials.js';
import { StdioSessions } from '../../../upstreams/stdio/stdio-sessions.js';

/** Ends the programs that run in sessions of an API key when it is deleted or expires. */
@Injectable()
export class RevokedSessions {
  constructor(sessions: StdioSessions, credentials: OpenCredentials) {
    sessions.endWith((_target, callerId, end) =>
      callerId === undefined ? () => undefined : credentials.watchKey(callerId, end),
    );
  }
}
