/**
 * An upstream of the benchmark of tool searches. Argument: the number of tools. Two belong to the task, the others are
 * of other domains. Schemas have the usual size, unless the list would be larger than the service accepts. Prints
 * `listening on <origin>`.
 */
import { serveTools } from './tool-server.mjs';

const count = Number(process.argv[2]);
const DOMAINS = ['calendar', 'invoices', 'tickets', 'wiki', 'mail', 'builds', 'contacts', 'assets', 'surveys', 'hosts'];
const ACTIONS = ['create', 'list', 'update', 'archive', 'export', 'assign', 'comment', 'watch', 'merge', 'restore'];

const properties = {
  text: { type: 'string', description: 'What the call is about, in plain text.', maxLength: 1000 },
  limit: { type: 'integer', description: 'How many items to return at most.', minimum: 1, maximum: 100 },
  since: { type: 'string', description: 'Only items that changed after this time.', format: 'date-time' },
};
const MANY = 2_000;
const shown = count > MANY ? { text: properties.text } : properties;
const inputSchema = { type: 'object', properties: shown, required: ['text'], additionalProperties: false };

function fillerAt(i) {
  const [domain, action] = [DOMAINS[i % DOMAINS.length], ACTIONS[Math.floor(i / DOMAINS.length) % ACTIONS.length]];
  const name = `${domain}_${action}_${i}`;
  const description = `Performs the action "${action}" on the ${domain} of a team, and returns the items that it changed.`;
  return { name, description, inputSchema };
}

const tools = [
  { name: 'orders_look_up', description: 'Looks up an order of a customer by its number.', inputSchema },
  { name: 'orders_refund', description: 'Refunds an order to the customer.', inputSchema },
  ...Array.from({ length: count - 2 }, (_, i) => fillerAt(i)),
];

serveTools({
  name: 'search-benchmark',
  tools,
  call: ({ name, arguments: { text } }) => ({ content: [{ type: 'text', text: `${name}: ${text}` }] }),
});
