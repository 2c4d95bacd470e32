import { runDriver } from '../driver.js';
import type { FieldClient } from '../field-client.js';

/** A library, in a program of a few lines. */
const library = (name: string): FieldClient => ({
  name,
  shows: ['prompt', 'resource'],
  how: 'library',
  run: async (task, place) => (await runDriver(name.replace('@', '').replace('/', '-'), place, task)).findings,
});

export const LIBRARIES: readonly FieldClient[] = [
  library('@mastra/mcp'),
  library('@ai-sdk/mcp'),
  library('@langchain/mcp-adapters'),
];
