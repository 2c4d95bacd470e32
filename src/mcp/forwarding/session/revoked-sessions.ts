import { Injectable } from '@nestjs/common';
import { OpenCredentials } from '../../../api-keys/open-credentials.js';
import { StdioSessions } from '../../../upstreams/stdio/stdio-sessions.js';

/** Stops the programs in an API key's sessions when the key is deleted or expires. */
@Injectable()
export class RevokedSessions {
  constructor(sessions: StdioSessions, credentials: OpenCredentials) {
    sessions.endWith((_target, callerId, end) =>
      callerId === undefined ? () => undefined : credentials.watchKey(callerId, end),
    );
  }
}
