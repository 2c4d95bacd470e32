import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { Signalbox } from '../../packages/client/src/index.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { runProgram } from '../support/program.js';
import { withPython } from '../support/python.js';
import { type BuiltService, startBuiltService } from './client.support.js';

const FOLDER = fileURLToPath(new URL('../../clients/python/', import.meta.url));

let service: BuiltService;
let everything: EverythingServer;

beforeAll(async () => {
  everything = await startEverything();
  service = await startBuiltService({ UPSTREAM_ALLOW: '127.0.0.1' });
}, 120_000);
afterAll(async () => {
  await service?.close();
  await everything?.close();
});

withPython('the Python client', () => {
  it('passes its own tests against the built service', async () => {
    const { url, apiKey } = service;
    const signalbox = new Signalbox({ url, apiKey });
    const { item: connection } = await signalbox.tool('COLLECTION_CONNECTIONS_CREATE', {
      data: { title: 'Everything', connection_type: 'HTTP', connection_url: everything.url },
    });
    const newAgent = async (approval: 'none' | 'all'): Promise<string> => {
      const data = { title: 'Agent', connections: [{ connection_id: connection.id, approval }] };
      return (await signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data })).item.id;
    };
    const { end, output } = await runProgram('python3', ['-m', 'unittest', 'discover', '-s', 'tests', '-t', 'tests'], {
      cwd: FOLDER,
      env: {
        PATH: process.env['PATH'],
        PYTHONPATH: FOLDER,
        PYTHONDONTWRITEBYTECODE: '1',
        // The suite warns about everything that it leaves open.
        PYTHONWARNINGS: 'error::DeprecationWarning',
        SIGNALBOX_URL: url,
        SIGNALBOX_API_KEY: apiKey,
        SIGNALBOX_AGENT: await newAgent('none'),
        SIGNALBOX_ASKING_AGENT: await newAgent('all'),
      },
    });
    expect({ end, output }).toEqual({ end: 0, output: expect.stringMatching(/Ran 21 tests[^]*OK/) });
  });
});
