import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Principal } from '../../../core/principal.js';
import type { AppConfig } from '../../../core/config/app-config.js';
import type { OpenConnections } from '../../../connections/open-connections.js';
import type { OpenCredentials } from '../../../identity/credentials/open-credentials.js';
import type { SessionTools } from '../../forwarding/session/session-tools.js';
import type { SessionOwner } from './client-upstream-session.js';
import type { ClientUpstreamSessionOpener } from './client-upstream-session-opener.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';

const IDLE_MS = 40;

let sessions: ClientUpstreamSessions;
let ended: string[];
let invalidate: () => void;

beforeEach(() => {
  ended = [];
  const credentials = {
    watchValidity: (_principal: Principal, listener: () => void) => {
      invalidate = listener;
      return () => undefined;
    },
  };
  sessions = new ClientUpstreamSessions(
    {} as ClientUpstreamSessionOpener,
    {} as SessionTools,
    credentials as unknown as OpenCredentials,
    {} as OpenConnections,
    { settings: { gatewaySessionIdleMs: IDLE_MS } } as AppConfig,
  );
  sessions.onEnd((key) => ended.push(key));
});

afterEach(() => sessions.onApplicationShutdown());

describe('ClientUpstreamSessions reports the end of a session', () => {
  it('that its client ended, also if it has no session with an upstream', () => {
    sessions.endSessions('key');
    expect(ended).toEqual(['key']);
  });

  it('whose credential is no longer valid', () => {
    sessions.endOf(ownerOf('key'));
    invalidate();
    expect(ended).toEqual(['key']);
  });

  it('that is idle', async () => {
    const signal = sessions.endOf(ownerOf('key'));
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    expect(ended).toEqual(['key']);
  });

  it('that is evicted', () => {
    for (let n = 0; n < 1_001; n++) sessions.endOf(ownerOf(`${n}`));
    expect(ended).toEqual(['0']);
  });
});

function ownerOf(key: string): SessionOwner {
  const principal = { organization: { id: 'organization' }, callerId: 'caller' };
  return { principal, session: { key } } as unknown as SessionOwner;
}
