import { afterAll, afterEach, expect } from '@jest/globals';
import { AddressPolicy } from '../../src/platform/net/address-policy.js';
import { GuardedDispatcher } from '../../src/platform/net/guarded-dispatcher.js';
import { UpstreamError } from '../../src/upstreams/contract/upstream-error.js';
import type { HttpTarget } from '../../src/upstreams/contract/upstream-target.js';
import { HttpUpstream } from '../../src/upstreams/http/http-upstream.js';
import { UpstreamSockets } from '../../src/upstreams/sockets/upstream-sockets.js';
import { legacyServer, type Script, type ScriptedServer, startScripted } from '../support/scripted-upstream.js';

type Connect = (url: string, target?: Partial<HttpTarget>, sockets?: UpstreamSockets) => HttpUpstream;

/**
 * Returns a function that makes upstreams, which are closed after each test. Without `sockets`, all addresses are
 * allowed.
 */
export function useHttpUpstreams(): Connect {
  const open = new UpstreamSockets(new GuardedDispatcher(new AddressPolicy({ allowPrivate: true, allow: [] })));
  const upstreams: HttpUpstream[] = [];

  afterEach(async () => {
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.close()));
  });
  afterAll(() => open.destroy());

  return (url, target = {}, sockets = open) => {
    const upstream = new HttpUpstream(
      { organizationId: 'o', connectionId: 'c', revision: '1', url, headers: {}, timeoutMs: 10_000, ...target },
      sockets,
    );
    upstreams.push(upstream);
    return upstream;
  };
}

interface ScriptedServerStarter {
  start: (script: Script) => Promise<ScriptedServer>;
  /** Starts a legacy server that answers `tools/call` with the function. */
  startLegacy: (script: Script) => Promise<ScriptedServer>;
}

/** Returns functions that start the scripted server of a test. It is closed after the test. */
export function useScriptedServer(): ScriptedServerStarter {
  let server: ScriptedServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const start = async (script: Script): Promise<ScriptedServer> => {
    server = await startScripted(script);
    return server;
  };
  return { start, startLegacy: (script) => start(legacyServer(script).script) };
}

/** The error with which the work fails. */
export async function failure(work: Promise<unknown>): Promise<UpstreamError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UpstreamError);
  return error as UpstreamError;
}
