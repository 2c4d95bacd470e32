import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const { url, key, tool, args, prompt, resource } = JSON.parse(process.env.FIELD_TASK);
const headers = { authorization: `Bearer ${key}` };
const client = new MultiServerMCPClient({ mcpServers: { field: { transport: 'http', url, headers } } });
const tools = await client.getTools();
const called = tools.find(({ name }) => name === tool);
const findings = { tools: tools.map(({ name }) => name), result: await called.invoke(args) };
if (prompt) {
  const connected = await client.getClient('field');
  findings.prompt = await connected.getPrompt({ name: prompt.name, arguments: prompt.args });
}
if (resource) findings.resource = await client.readResource('field', resource.uri);
await client.close();
console.log(JSON.stringify(findings));
