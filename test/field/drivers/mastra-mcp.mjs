import { MCPClient } from '@mastra/mcp';

const { url, key, tool, args, prompt, resource } = JSON.parse(process.env.FIELD_TASK);
const requestInit = { headers: { authorization: `Bearer ${key}` } };
const client = new MCPClient({ servers: { field: { url: new URL(url), requestInit } } });
const tools = await client.listTools();
const findings = { tools: Object.keys(tools), result: await tools[`field_${tool}`].execute(args, {}) };
if (prompt) {
  const { name, args } = prompt;
  findings.prompt = await client.prompts.get({ serverName: 'field', name, args });
}
if (resource) findings.resource = await client.resources.read('field', resource.uri);
await client.disconnect();
console.log(JSON.stringify(findings));
