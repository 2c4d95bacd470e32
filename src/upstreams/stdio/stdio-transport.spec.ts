import { expect, it } from '@jest/globals';
import type { StdioTarget } from '../contract/upstream-target.js';
import type { StdioProcess } from './stdio-process.js';
import type { StdioProcesses } from './stdio-processes.js';
import { StdioTransport } from './stdio-transport.js';

it('no longer waits for an answer about the era once it sends `initialize`', async () => {
  let awaited = 0;
  const process = { write: () => true, enter: () => void awaited++, leave: () => void awaited-- };
  const processes = { start: async () => process as unknown as StdioProcess } as unknown as StdioProcesses;
  const transport = new StdioTransport({ command: 'node' } as StdioTarget, processes, 'caller');
  await transport.start();
  const send = (id: string | number, method: string): void => {
    void transport.send({ jsonrpc: '2.0', id, method });
  };
  send('probe', 'server/discover');
  expect(awaited).toBe(1);
  send(0, 'initialize');
  expect(awaited).toBe(1);
  send(1, 'tools/list');
  expect(awaited).toBe(2);
});
