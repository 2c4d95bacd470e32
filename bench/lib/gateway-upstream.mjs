/**
 * An upstream of the gateway benchmark, whose tools `tool_0`, … return their input. Arguments: the number of tools, and
 * the milliseconds that it takes to list them. Prints `listening on <origin>`.
 */
import { serveTools } from './tool-server.mjs';

const [count, listMs] = process.argv.slice(2).map(Number);
const properties = { text: { type: 'string', maxLength: 1000 }, times: { type: 'integer', minimum: 1 } };
const tools = Array.from({ length: count }, (_, i) => ({
  name: `tool_${i}`,
  description: 'Returns the given text. '.repeat(8).trim(),
  inputSchema: { type: 'object', properties, required: ['text'], additionalProperties: false },
}));

serveTools({
  name: 'gateway-benchmark',
  tools,
  call: ({ arguments: { text } }) => ({ content: [{ type: 'text', text }] }),
  listMs,
});
